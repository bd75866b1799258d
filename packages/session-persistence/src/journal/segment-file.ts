import { join } from 'node:path'
import { SessionError } from '@tidemark/session-core'
import { corrupt } from './failure.ts'
import { hasReason, type JournalPort, type PortFile } from './port.ts'
import { openFile } from './private-file.ts'

/** Where the files of one session are. */
export interface SessionFolder {
  readonly port: JournalPort
  readonly id: string
  readonly path: string
}

/** Bytes read at once. */
const pieceSizeBytes = 262_144

/** The bytes of a file from one offset up to another, in pieces. */
export async function* readPieces(file: PortFile, from: number, to: number): AsyncGenerator<Buffer, void> {
  for (let offset = from; offset < to;) {
    const piece = Buffer.allocUnsafe(Math.min(pieceSizeBytes, to - offset))
    const countBytes = await file.read(piece, offset)
    if (countBytes === 0)
      throw new SessionError('STORAGE_FAILED', `a segment shrank to ${offset} bytes while it was read`)
    yield piece.subarray(0, countBytes)
    offset += countBytes
  }
}

/** The bytes between two offsets at once: for what is known to be bounded. */
export async function readSpan(file: PortFile, from: number, to: number): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of readPieces(file, from, to)) pieces.push(piece)
  return Buffer.concat(pieces)
}

export async function openSegment(
  { port, id, path }: SessionFolder,
  segment: string,
): ReturnType<typeof openFile> {
  try {
    return await openFile(port, join(path, segment))
  } catch (error) {
    if (hasReason(error, 'ENOENT')) throw corrupt(id, { segment, reason: 'is missing', rule: 'R2' })
    if (hasReason(error, 'ELOOP')) throw corrupt(id, { segment, reason: 'is a link', rule: 'R2' })
    throw error
  }
}
