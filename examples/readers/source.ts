import { readFileSync, statSync, type Stats } from 'node:fs'
import { TranscriptRefused } from './refusal.ts'

/** A file is read whole, so its size is bounded. */
export const sourceSizeBytesMax = 256 * 1024 * 1024

export interface Source {
  readonly file: string
  readonly bytes: Buffer
}

/** @throws TranscriptRefused `missing`, `unreadable`, `too-large`. */
export function openSource(file: string, sizeBytesMax = sourceSizeBytesMax): Source {
  const stats = attempt(file, () => statSync(file))
  refuseOther(file, stats)
  if (stats.size > sizeBytesMax) {
    const reason = `is ${stats.size} bytes; at most ${sizeBytesMax} are read`
    throw new TranscriptRefused('too-large', file, { reason })
  }
  return { file, bytes: attempt(file, () => readFileSync(file)) }
}

function refuseOther(file: string, stats: Stats): void {
  if (stats.isFile()) return
  const reason = stats.isDirectory() ? 'is a folder, not a file' : 'is not a regular file'
  throw new TranscriptRefused('unreadable', file, { reason })
}

function attempt<T>(file: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') {
      throw new TranscriptRefused('missing', file, { reason: 'no such file' })
    }
    throw new TranscriptRefused('unreadable', file, { reason: `cannot be read (${String(error.code)})` })
  }
}
