import { isDigest, isRecord, isWhole } from './guard.ts'
import type { PortFile } from './port.ts'
import { openLine, sealLine } from './sealed-line.ts'
import { readSpan } from './span.ts'

/** Bytes that a commit line takes at most, its end included. */
export const commitSizeBytesMax = 1_536

/** Line ends before a commit line: inside an event's text this cannot stand, since JSON escapes its quotes. */
export const commitStart = Buffer.from('\n{"commit":{')

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

/** `undefined` unless the line proves itself. One for each batch of a log that is read, so its guard is plain code. */
export function parseCommit(line: string, salt: string): Commit | undefined {
  const fields = openLine('commit', line, salt)?.fields
  return isCommit(fields) ? fields : undefined
}

/** The commit line that ends at an offset and proves itself. What is before `from` is no part of it. */
export async function findCommitBefore(
  file: PortFile,
  { from, to }: { readonly from: number; readonly to: number },
  salt: string,
): Promise<Commit | undefined> {
  const bytes = await readSpan(file, Math.max(from, to - commitSizeBytesMax - 1), to)
  const at = bytes.lastIndexOf(commitStart)
  if (at === -1 || bytes.indexOf(10, at + 1) !== bytes.length - 1) return undefined
  return parseCommit(bytes.toString('utf8', at + 1, bytes.length - 1), salt)
}

function isCommit(fields: unknown): fields is Commit {
  if (!isRecord(fields)) return false
  const { from, to, epoch, batchId, durable, digest } = fields
  const isPlaced = isWhole(from, 0) && isWhole(to, -1) && isWhole(durable, -1) && isWhole(epoch, 1)
  return isPlaced && typeof batchId === 'string' && isDigest(digest)
}
