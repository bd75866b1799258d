import { SessionError } from '@tidemark/session-core'
import type { PortFile } from './port.ts'

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
