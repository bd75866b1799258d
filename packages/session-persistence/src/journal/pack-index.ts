import { createHash } from 'node:crypto'
import { z } from 'zod'
import { fitting } from '../fitting.ts'
import { parseJson } from '../json-text.ts'
import { openLine, sealLine } from './sealed-line.ts'

/** Bytes at the end of a pack: a sealed line, padded with spaces, and LF. */
export const footerSizeBytes = 256

/** Bytes of an index, expanded. It holds the header line of each segment. */
export const indexSizeBytesMax = 67_108_864

/** Where in a pack the index is. It ends where the footer begins. */
export interface Footer {
  readonly format: number
  readonly offset: number
  readonly sizeBytes: number
  readonly digest: string
}

/** Text that was compressed by itself. Blocks stand one after the other from the first byte on. */
export interface Block {
  readonly textSizeBytes: number
  readonly sizeBytes: number
  /** SHA-256 of the compressed bytes. */
  readonly digest: string
}

/** A segment up to its seal: its header line, LF, and so many bytes of the text from `at` on. */
export interface PackedSegment {
  readonly name: string
  readonly header: string
  /** With the header. */
  readonly bytes: number
  readonly seq: number
  readonly digest: string
  readonly at: number
}

export interface PackIndex {
  readonly session: string
  readonly segments: readonly PackedSegment[]
  readonly blocks: readonly Block[]
}

export const packFormat = 1

export function sealFooter(footer: Footer): Buffer {
  return Buffer.from(`${sealLine('pack', footer).text.padEnd(footerSizeBytes - 1)}\n`)
}

/** `undefined` unless the line proves itself. */
export function parseFooter(bytes: Buffer): Footer | undefined {
  return fitting(footerSchema, openLine('pack', bytes.toString().trimEnd())?.fields)
}

export function parseIndex(text: Buffer): PackIndex | undefined {
  return fitting(indexSchema, parseJson(text.toString()))
}

/** Bytes of a header line with its end. */
export function headerSizeBytesOf({ header }: PackedSegment): number {
  return Buffer.byteLength(header) + 1
}

export function textSizeBytesOf({ blocks }: PackIndex): number {
  return blocks.reduce((sum, { textSizeBytes }) => sum + textSizeBytes, 0)
}

export function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

const count = z.int().min(0)
const digest = z.string().regex(/^[0-9a-f]{64}$/)

const footerSchema = z.object({ format: z.int().min(1), offset: count, sizeBytes: count, digest })

const indexSchema = z.object({
  session: z.string(),
  segments: z.array(
    z.object({
      name: z.string(),
      header: z.string(),
      bytes: count,
      seq: z.int().min(-1),
      digest,
      at: count,
    }),
  ),
  blocks: z.array(z.object({ textSizeBytes: count, sizeBytes: count, digest })),
})
