import type { AnySessionEvent, SessionHeader } from '@tidemark/session-core'
import { chainDigest } from '../digest.ts'
import { parseJson } from '../json-text.ts'
import type { SalvagedLog, SalvagedRecord } from '../storage.ts'
import { listNames } from './chain.ts'
import { parseCommit } from './commit.ts'
import { failure } from './failure.ts'
import { openSegment, readPieces, type SessionFolder } from './segment-file.ts'
import { segmentsIn, type SegmentName } from './segment-name.ts'
import { findHeaderIn } from './segment-start.ts'
import { batchSizeBytesMax } from './size.ts'

type FoundHeader = Awaited<ReturnType<typeof findHeaderIn>>

interface Part {
  readonly name: SegmentName
  readonly found: FoundHeader | undefined
  /** Later segments go on from here: what this one holds beyond is not part of the log. */
  readonly before: number
}

/** Whatever can still be read of a session, whatever state its files are in. Changes nothing. */
export async function salvageSession(folder: SessionFolder): Promise<SalvagedLog> {
  const parts = await findParts(folder)
  const session: SessionHeader | undefined = parts.find(({ found }) => found)?.found?.header.session
  return { ...(session && { header: session }), records: recordsIn(folder, parts) }
}

async function findParts(folder: SessionFolder): Promise<readonly Part[]> {
  const parts: Part[] = []
  let before = Infinity
  for (const name of segmentsIn(await listNames(folder))) {
    const found = await findHeaderIn(folder, name)
    const isOurs = found === undefined || found.header.session.id === folder.id
    if (!isOurs) continue
    parts.push({ name, found, before })
    before = Math.min(before, found?.header.firstSeq ?? before)
  }
  return parts.reverse()
}

async function* recordsIn(
  folder: SessionFolder,
  parts: readonly Part[],
): AsyncGenerator<SalvagedRecord, void> {
  let lastSeq = -1
  try {
    for (const part of parts) {
      for await (const record of recordsOf(folder, part)) {
        const { seq } = record.event
        if (seq <= lastSeq || seq >= part.before) continue
        lastSeq = seq
        yield record
      }
    }
  } catch (error) {
    throw failure('salvaging a session', error)
  }
}

async function* recordsOf(
  folder: SessionFolder,
  { name, found }: Part,
): AsyncGenerator<SalvagedRecord, void> {
  const scan = new SalvageScan(found)
  const { file, stat } = await openSegment(folder, name.name)
  try {
    for await (const line of linesIn(readPieces(file, 0, stat.sizeBytes))) yield* scan.take(line)
    yield* scan.finish()
  } finally {
    await file.close()
  }
}

/** Lines with their ends. One that is longer than any can be is given up to its next end. */
async function* linesIn(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  let rest: Buffer[] = []
  let restSizeBytes = 0
  for await (const piece of pieces) {
    let from = 0
    for (let lf = piece.indexOf(10); lf !== -1; lf = piece.indexOf(10, from)) {
      yield Buffer.concat([...rest, piece.subarray(from, lf + 1)])
      rest = []
      restSizeBytes = 0
      from = lf + 1
    }
    if (restSizeBytes > batchSizeBytesMax) continue
    rest.push(piece.subarray(from))
    restSizeBytes += piece.length - from
  }
  if (restSizeBytes > 0) yield Buffer.concat([...rest, Buffer.from('\n')])
}

/**
 * Tells in a damaged segment which events prove themselves: those of a batch whose commit is whole, whose lines make
 * its digest, and that goes on from a commit that is whole.
 */
class SalvageScan {
  private lines: { readonly bytes: Buffer; readonly event: AnySessionEvent | undefined }[] = []
  private sizeBytes = 0
  /** Of the log before these lines; unknown after a commit that is not whole. */
  private digest: string | undefined

  constructor(private readonly found: FoundHeader) {
    this.digest = found?.header.predecessor?.digest ?? found?.sum
  }

  *take(bytes: Buffer): Generator<SalvagedRecord, void> {
    const text = bytes.subarray(0, -1).toString()
    if (text.startsWith('{"segment":')) return
    if (text.startsWith('{"commit":')) {
      yield* this.commit(text)
      return
    }
    this.lines.push({ bytes, event: eventIn(text) })
    this.sizeBytes += bytes.length
    if (this.sizeBytes > batchSizeBytesMax) yield* this.finish()
  }

  *finish(): Generator<SalvagedRecord, void> {
    yield* this.give(false)
    this.digest = undefined
  }

  private *commit(text: string): Generator<SalvagedRecord, void> {
    const commit = this.found && parseCommit(text, this.found.header.salt)
    const lines = this.lines.map(({ bytes }) => bytes)
    const isProven =
      commit !== undefined && this.digest !== undefined && chainDigest(this.digest, lines) === commit.digest
    yield* this.give(isProven)
    this.digest = commit?.digest
  }

  private *give(isProven: boolean): Generator<SalvagedRecord, void> {
    for (const { event } of this.lines) if (event) yield { event, isProven }
    this.lines = []
    this.sizeBytes = 0
  }
}

function eventIn(text: string): AnySessionEvent | undefined {
  const value = parseJson(text)
  const isLike =
    typeof value === 'object' &&
    value !== null &&
    'seq' in value &&
    Number.isSafeInteger(value.seq) &&
    'time' in value &&
    typeof value.time === 'number' &&
    'type' in value &&
    typeof value.type === 'string' &&
    'data' in value
  return isLike ? (value as AnySessionEvent) : undefined
}
