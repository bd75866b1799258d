import { SessionError } from '@tidemark/session-core'
import type { PortFile } from './port.ts'

/** Bytes read at once. */
const pieceSizeBytes = 262_144

/** Bytes that are read first, and twice as many each time: mostly a reader of a page has enough soon. */
const firstPieceSizeBytes = 65_536

/** The bytes of a file from one offset up to another, in pieces. */
export async function* readPieces(file: PortFile, from: number, to: number): AsyncGenerator<Buffer, void> {
  let sizeBytes = firstPieceSizeBytes
  for (let offset = from; offset < to;) {
    const piece = Buffer.allocUnsafe(Math.min(sizeBytes, to - offset))
    const countBytes = await file.read(piece, offset)
    if (countBytes === 0) throw shrank(offset)
    yield piece.subarray(0, countBytes)
    offset += countBytes
    sizeBytes = Math.min(pieceSizeBytes, sizeBytes * 2)
  }
}

/** The bytes between two offsets at once: for what is known to be bounded. */
export async function readSpan(file: PortFile, from: number, to: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(Math.max(0, to - from))
  for (let countBytes = 0; countBytes < bytes.length;) {
    const into = bytes.subarray(countBytes, countBytes + pieceSizeBytes)
    const read = await file.read(into, from + countBytes)
    if (read === 0) throw shrank(from + countBytes)
    countBytes += read
  }
  return bytes
}

function shrank(offset: number): SessionError {
  return new SessionError('STORAGE_FAILED', `a segment shrank to ${offset} bytes while it was read`)
}
