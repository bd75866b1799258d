import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { PortFile } from './port.ts'
import { createFile, ensureFolder, refuseOpenFolder } from './private-file.ts'
import { openSegment, readPieces, type SessionFolder } from './segment-file.ts'
import { cleanUp, closeAfterFailure, writeAll } from './writing.ts'

/** Where the bytes stand that recoveries set aside. */
const quarantineName = 'recovered'

/** Bytes of a segment, from `offset` on. */
export interface Span {
  readonly segment: string
  readonly offset: number
  readonly sizeBytes: number
}

/**
 * Copies bytes aside before the log goes on without them, and makes the copy durable. One copy for each epoch that
 * tries: after a crash the next one makes its own. Resolves with their SHA-256.
 */
export async function setAside(folder: SessionFolder, span: Span, epoch: number): Promise<string> {
  const place = await placeOfAside(folder)
  const { file } = await createFile(folder.port, pathOf(folder, span, epoch))
  try {
    const digest = await copy(folder, span, file)
    await file.sync()
    await file.close()
    await folder.port.syncFolder(place)
    return digest
  } catch (error) {
    await closeAfterFailure(file)
    await dropAside(folder, span, epoch)
    throw error
  }
}

/** Where what is set aside stands, made where it is missing. @throws SessionError `STORAGE_FAILED` when it is no safe place. */
export async function placeOfAside({ port, path }: SessionFolder): Promise<string> {
  const place = join(path, quarantineName)
  await ensureFolder(port, place)
  await refuseOpenFolder(port, place, 'the folder of what was set aside')
  return place
}

/** Removes a copy that nothing names: a disk that is full must not be filled by trying. */
export async function dropAside(folder: SessionFolder, span: Span, epoch: number): Promise<void> {
  await cleanUp(() => folder.port.unlink(pathOf(folder, span, epoch)))
}

function pathOf({ path }: SessionFolder, { segment, offset }: Span, epoch: number): string {
  return join(path, quarantineName, `${segment}.${offset}.${epoch}`)
}

async function copy(
  folder: SessionFolder,
  { segment, offset, sizeBytes }: Span,
  to: PortFile,
): Promise<string> {
  const { file: from } = await openSegment(folder, segment)
  try {
    const hash = createHash('sha256')
    let written = 0
    for await (const piece of readPieces(from, offset, offset + sizeBytes)) {
      hash.update(piece)
      await writeAll(to, piece, written)
      written += piece.length
    }
    return hash.digest('hex')
  } finally {
    await from.close()
  }
}
