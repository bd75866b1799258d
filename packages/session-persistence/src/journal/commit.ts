import { z } from 'zod'
import { openLine, sealLine } from './sealed-line.ts'

/** Bytes that a commit line takes at most, its end included. */
export const commitSizeBytesMax = 1_536

/** The last line of a batch. */
export interface Commit {
  /** The first and the last seq of the batch; without events `to` is `from - 1`. */
  readonly from: number
  readonly to: number
  readonly epoch: number
  readonly batchId: string
  /** The highest seq whose sync had returned, and whose look had passed, when this line was written. */
  readonly durable: number
  /** The log's digest after this batch. */
  readonly digest: string
}

export function sealCommit({ from, to, epoch, batchId, durable, digest }: Commit, salt: string): Buffer {
  return Buffer.from(`${sealLine('commit', { from, to, epoch, batchId, durable, digest }, salt).text}\n`)
}

/** `undefined` unless the line proves itself. */
export function parseCommit(line: string, salt: string): Commit | undefined {
  const opened = openLine('commit', line, salt)
  const parsed = schema.safeParse(opened?.fields)
  return parsed.success ? parsed.data : undefined
}

const schema = z.object({
  from: z.int().min(0),
  to: z.int().min(-1),
  epoch: z.int().min(1),
  batchId: z.string(),
  durable: z.int().min(-1),
  digest: z.string().regex(/^[0-9a-f]{64}$/),
})
