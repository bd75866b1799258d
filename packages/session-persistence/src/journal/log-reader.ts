import { SessionError } from '@tidemark/session-core'
import type { Writer } from '../storage.ts'
import { findChain, type Chain, type Link } from './chain.ts'
import { corrupt } from './failure.ts'
import type { Predecessor } from './header.ts'
import { openSegment, readPieces, type SessionFolder } from './segment-file.ts'
import { SegmentScan, type Position, type ScannedBatch } from './segment-scan.ts'

/** How far a log was read and found whole. */
export interface ReadTo extends Position {
  readonly segment: string
}

/** A batch of a log, and the segment it stands in. */
export interface LogBatch extends ScannedBatch {
  readonly epoch: number
  readonly writer: Writer
  readonly segment: string
}

/** Where a log ended when it was read. */
export interface LogEnd extends ReadTo {
  readonly chain: Chain
}

/** How often an unfinished end is looked at again: beside a living writer it is finished soon. */
const looksMax = 3
const roundsMax = 64
const pauseMs = 5

/**
 * The batches of a log from `from` on to its end, which is what the generator returns.
 *
 * @throws SessionError `NOT_FOUND`, `UNSUPPORTED_FORMAT`, `CORRUPT` when anything does not fit, an unfinished
 * end included, and `TAIL_MOVED` when what was read is not in the log any more.
 */
export async function* readLog(folder: SessionFolder, from?: ReadTo): AsyncGenerator<LogBatch, LogEnd> {
  let readTo = from
  let looks = 0
  for (let rounds = 1; ; rounds++) {
    const chain = await findChain(folder)
    const { end, isClean } = yield* readChain(folder, chain, readTo)
    if (isClean) return { ...end, chain }
    looks = end.offset === readTo?.offset ? looks + 1 : 1
    readTo = end
    if (looks === looksMax || rounds === roundsMax) throw unfinished(folder, end)
    await folder.port.pause(pauseMs * looks)
  }
}

/** Reads a log to its end, for nothing but that. */
export async function readToEnd(
  folder: SessionFolder,
  onBatch?: (batch: LogBatch) => void,
  from?: ReadTo,
): Promise<LogEnd> {
  const log = readLog(folder, from)
  for (let step = await log.next(); ; step = await log.next()) {
    if (step.done) return step.value
    onBatch?.(step.value)
  }
}

interface ChainEnd {
  readonly end: ReadTo
  readonly isClean: boolean
}

async function* readChain(
  folder: SessionFolder,
  chain: Chain,
  from?: ReadTo,
): AsyncGenerator<LogBatch, ChainEnd> {
  const index = from === undefined ? 0 : chain.links.findIndex(({ name }) => name === from.segment)
  const links = index === -1 ? [] : chain.links.slice(index)
  let position: Position | undefined = from
  let result: ChainEnd | undefined
  for (const link of links) {
    result = yield* readLink(folder, link, position ?? link.start)
    position = undefined
  }
  if (result) return result
  throw dropped(folder)
}

async function* readLink(
  folder: SessionFolder,
  link: Link,
  from: Position,
): AsyncGenerator<LogBatch, ChainEnd> {
  if (link.endBytes < from.offset) throw dropped(folder)
  const scan = new SegmentScan(link.header, from)
  const { epoch, writer } = link.header
  const { file } = await openSegment(folder, link.name)
  try {
    for await (const piece of readPieces(file, from.offset, link.endBytes)) {
      for (const found of scan.push(piece)) {
        if (found.kind === 'damage')
          throw corrupt(folder.id, { ...found, segment: link.name, intactThrough: scan.end.tail.seq })
        yield { ...found, epoch, writer, segment: link.name }
      }
    }
  } finally {
    await file.close()
  }
  const end = { ...scan.end, segment: link.name }
  if (link.seal) refuseOtherEnd(folder, link.seal, end)
  return { end, isClean: scan.isClean }
}

function refuseOtherEnd({ id }: SessionFolder, seal: Predecessor, end: ReadTo): void {
  const { seq, digest } = end.tail
  if (end.offset === seal.bytes && seq === seal.seq && digest === seal.digest) return
  const reason = `was sealed at byte ${seal.bytes}, seq ${seal.seq}, and does not end there`
  throw corrupt(id, {
    segment: end.segment,
    reason,
    offset: end.offset,
    line: end.lines + 1,
    intactThrough: seq,
  })
}

/** A batch that was read before its writer was fenced, and that the next writer did not see. */
function dropped({ id }: SessionFolder): SessionError {
  return new SessionError('TAIL_MOVED', `${id}: somebody took over, and dropped what was read`, {
    sessionId: id,
  })
}

function unfinished({ id }: SessionFolder, end: ReadTo): SessionError {
  const { segment, offset, lines, tail } = end
  const reason = 'goes on after the last commit, with a batch that is not whole'
  return corrupt(id, { segment, reason, offset, line: lines + 1, intactThrough: tail.seq })
}
