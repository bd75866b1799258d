import { openRaw, readSpan, type SessionFolder } from './segment-file.ts'
import { hasReason } from './port.ts'
import { segmentsIn } from './segment-name.ts'

/**
 * How a log ends, told without reading it: the name and the length of its newest segment, and the sum that its last
 * line closes with. That line is a commit, whose sum is keyed with the segment's salt and covers the digest of all that
 * came before. So two logs with the same imprint are the same log, also where files were copied or inodes used again.
 */
export interface Imprint {
  readonly segment: string
  readonly sizeBytes: number
  readonly sum: string
}

/** `,"sum":"<64 digits>"}}` and the line end. */
const closeSizeBytes = 76

/** `undefined` where a log does not end in a sealed line: while a batch is written, or when one was cut short. */
export async function findImprint(folder: SessionFolder): Promise<Imprint | undefined> {
  const segment = await findNewest(folder)
  const opened = segment === undefined ? undefined : await openRaw(folder, segment)
  if (segment === undefined || opened === undefined) return undefined
  const { file, stat } = opened
  try {
    const { sizeBytes } = stat
    const close = await readSpan(file, Math.max(0, sizeBytes - closeSizeBytes), sizeBytes)
    const sum = sumAtEnd(close)
    return sum === undefined ? undefined : { segment, sizeBytes, sum }
  } finally {
    await file.close()
  }
}

/** The sum that a line closes with, from its last bytes; `undefined` where that is no sealed line. */
export function sumAtEnd(line: Buffer): string | undefined {
  const close = line.subarray(Math.max(0, line.length - closeSizeBytes))
  return /^,"sum":"([0-9a-f]{64})"\}\}\n$/.exec(close.toString('latin1'))?.[1]
}

export function isSameImprint(a: Imprint, b: Imprint): boolean {
  return a.sum === b.sum && a.sizeBytes === b.sizeBytes && a.segment === b.segment
}

/** The newest segment is never packed, so its own file is there. */
async function findNewest({ port, path }: SessionFolder): Promise<string | undefined> {
  try {
    return segmentsIn(await port.readdir(path))[0]?.name
  } catch (error) {
    if (!hasReason(error, 'ENOENT', 'ENOTDIR')) throw error
    return undefined // removed, or no session: whoever reads it says so
  }
}
