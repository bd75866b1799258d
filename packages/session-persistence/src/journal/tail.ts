import { parseCommit, commitSizeBytesMax } from './commit.ts'
import type { PortFile } from './port.ts'
import type { FoundCommits, Tail } from './recover.ts'
import { readPieces } from './segment-file.ts'
import { batchSizeBytesMax } from './size.ts'

/** What the bytes of a segment between two offsets are, read in pieces however many they are. */
export async function readTail(
  file: PortFile,
  { from, to }: { from: number; to: number },
  of: { salt: string; epoch: number },
): Promise<Tail> {
  const sieve = new CommitSieve(of)
  const kept: Buffer[] = []
  let keptSizeBytes = 0
  for await (const piece of readPieces(file, from, to)) {
    sieve.push(piece)
    if (keptSizeBytes >= batchSizeBytesMax) continue
    kept.push(piece)
    keptSizeBytes += piece.length
  }
  return { sizeBytes: to - from, bytes: Buffer.concat(kept), commits: sieve.found }
}

const noCommits: FoundCommits = {
  count: 0,
  durableMax: -1,
  fromMin: Infinity,
  toMax: -1,
  hasOtherEpoch: false,
}

/** Where nothing follows. */
export const noTail: Tail = { sizeBytes: 0, bytes: Buffer.alloc(0), commits: noCommits }

const start = Buffer.from('{"commit":{')

/**
 * Finds the commit lines in bytes that may be damaged: at every `{"commit":{`, since damage can swallow a line end.
 * Those that do not prove themselves are passed over.
 */
export class CommitSieve {
  found: FoundCommits = noCommits
  /** What may be the beginning of a commit line, or of its first characters. */
  private rest: Buffer = Buffer.alloc(0)
  /** The highest `to` of the commits found that nothing has followed yet. */
  private unfollowedTo: number | undefined

  constructor(private readonly of: { readonly salt: string; readonly epoch: number }) {}

  push(piece: Buffer): void {
    const bytes = this.rest.length === 0 ? piece : Buffer.concat([this.rest, piece])
    // What was kept back was counted as following when it came.
    let seen = this.rest.length
    let from = 0
    for (let at = bytes.indexOf(start); at !== -1; at = bytes.indexOf(start, from)) {
      const lf = bytes.indexOf(10, at)
      if (lf === -1 && bytes.length - at <= commitSizeBytesMax) break
      from = at + 1
      if (lf === -1 || !this.take(bytes.subarray(at, lf), () => bytes.subarray(seen, at))) continue
      seen = from = lf + 1
    }
    this.follow(bytes.subarray(seen))
    this.rest = this.keep(bytes, from)
  }

  private keep(bytes: Buffer, from: number): Buffer {
    const open = bytes.indexOf(start, from)
    const tailFrom = Math.max(from, bytes.length - start.length + 1)
    return Buffer.from(bytes.subarray(open === -1 ? tailFrom : open))
  }

  private take(line: Buffer, before: () => Buffer): boolean {
    const commit = line.length < commitSizeBytesMax ? parseCommit(line.toString(), this.of.salt) : undefined
    if (commit === undefined) return false
    this.follow(before())
    this.follow(line)
    const { count, durableMax, fromMin, toMax, hasOtherEpoch, ...others } = this.found
    this.found = {
      ...others,
      count: count + 1,
      durableMax: Math.max(durableMax, commit.durable),
      fromMin: Math.min(fromMin, commit.from),
      toMax: Math.max(toMax, commit.to),
      hasOtherEpoch: hasOtherEpoch || commit.epoch !== this.of.epoch,
    }
    this.unfollowedTo = commit.to
    return true
  }

  /** Anything but zeros says that a writer went on; zeros may be a hole at the end. */
  private follow(bytes: Buffer): void {
    const { unfollowedTo } = this
    if (unfollowedTo === undefined || bytes.every((byte) => byte === 0)) return
    this.unfollowedTo = undefined
    this.found = { ...this.found, followedTo: Math.max(this.found.followedTo ?? -1, unfollowedTo) }
  }
}
