import { join } from 'node:path'
import { SessionError, isSessionError } from '@tidemark/session-core'
import { isCorrupt } from '../refused-read.ts'
import { encodeEvent, type EncodedEvent } from '../encoded-event.ts'
import type { Receipted } from '../storage.ts'
import { dropped, type LogBatch, type LogTerms, type ReadTo } from './chain-reader.ts'
import { emptyDigest, goesOn, type Chain } from './chain.ts'
import { corrupt } from './failure.ts'
import type { Forked, Predecessor } from './header.ts'
import { findChainThrough } from './intact.ts'
import { readLog } from './log-reader.ts'
import { listPacked } from './pack-shelf.ts'
import { hasReason, isSystemFailure, type JournalPort } from './port.ts'
import { createFilled, openFile } from './private-file.ts'
import { refuseUnheld } from './held.ts'
import { isMissing, readPieces, type SessionFolder } from './segment-file.ts'
import { highestEpoch } from './segment-name.ts'
import { seek } from './seek.ts'
import { snapshotsIn, snapshotsKeptMax } from './snapshot-file.ts'
import { writeAll } from './writing.ts'

/** What a fork begins with. */
export interface Inheritance {
  /** The source's files that hold it: they are shared, and what follows in them does not count. */
  readonly files: readonly string[]
  /** Shared where they can be: without them nothing is missing. */
  readonly snapshots: readonly string[]
  /** Where the fork's own first segment goes on. */
  readonly predecessor: Predecessor
  readonly forked: Forked
  /** What is inherited of a batch that is cut, or that nothing proves durable: the fork writes it itself. */
  readonly rest: readonly EncodedEvent[]
  readonly epoch: number
  /** The digest of the empty log. */
  readonly log: string
}

/** How often the source is looked at again whose files change names meanwhile. */
const looksMax = 8

/** What cannot be linked is copied: other file systems, and those that have no links. */
const unlinkable = ['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']

export interface InheritTerms {
  readonly through: number
  /** How far a writer in this process has acknowledged: proof enough. */
  readonly durableSeq: number
  /** What the source holds, or it is another log than the one that was meant. */
  readonly receipt?: Receipted | undefined
}

/**
 * Links what a fork shares with its source into its folder, and says how it goes on. The source is only read; of its
 * log only the batch that is cut.
 *
 * @throws SessionError `INVALID_SEQ` when the source ends earlier; what reading it meets.
 */
export async function inherit(
  source: SessionFolder,
  into: SessionFolder,
  terms: InheritTerms,
): Promise<Inheritance> {
  for (let looks = 1; ; looks++) {
    try {
      const chain = await findChainThrough(source, terms)
      const found = await find(source, chain, terms)
      for (const name of found.files) await share(source, into, name)
      for (const name of found.snapshots) await shareSnapshot(source, into, name)
      // Names say nothing of what they were linked to.
      if (!goesOn(await findChainThrough(source, terms), chain)) throw dropped(source)
      return found
    } catch (error) {
      const isPacked = hasReason(error, 'ENOENT', 'EEXIST')
      const isMoved = isMissing(error) || (isSessionError(error) && error.code === 'TAIL_MOVED')
      source.memory.forget()
      if (looks === looksMax || !(isPacked || isMoved)) throw error
      for (const name of await into.port.readdir(into.path)) await into.port.unlink(join(into.path, name))
    }
  }
}

async function find(source: SessionFolder, chain: Chain, terms: InheritTerms): Promise<Inheritance> {
  if (terms.through < 0) throw short(source, { lastSeq: -1, through: terms.through })
  if (terms.receipt) await refuseUnheld(source, chain, terms.receipt)
  const { end, rest } = await cut(source, chain, terms)
  const events = rest.flatMap((batch) => batch.events)
  const own = events.filter(({ seq }) => seq > end.seq && seq <= terms.through)
  const lastSeq = own.at(-1)?.seq ?? end.seq
  if (lastSeq !== terms.through) throw short(source, { lastSeq, through: terms.through })
  const { files, snapshots } = await filesOf(source, chain, end)
  const { seq, digest } = end
  const forked = { id: source.id, seq, digest }
  const epoch = highestEpoch(files) + 1
  const begun = { epoch, log: emptyDigest(chain) }
  return { files, snapshots, predecessor: end, forked, rest: own.map(encodeEvent), ...begun }
}

function short(
  { id }: SessionFolder,
  { lastSeq, through }: { lastSeq: number; through: number },
): SessionError {
  const message = `${id}: ends at seq ${lastSeq}, and no event is at ${through}`
  return new SessionError('INVALID_SEQ', message, { sessionId: id, intactThrough: lastSeq })
}

interface Cut {
  /** Of the last batch that is inherited whole and known to be durable. */
  readonly end: Predecessor
  /** What follows it of what is inherited. */
  readonly rest: readonly LogBatch[]
}

/** One event more is read, so that a batch which another one follows is known to be durable. */
async function cut(source: SessionFolder, chain: Chain, terms: InheritTerms): Promise<Cut> {
  const { through } = terms
  const from = (await seek(source, chain, { kind: 'seq', seq: through })) ?? beginning(source, chain)
  try {
    return await cutFrom(source, { from, found: chain, through: through + 1 }, terms)
  } catch (error) {
    if (!isCorrupt(error)) throw error
    return cutFrom(source, { from, found: chain, through }, terms) // what follows does not matter
  }
}

async function cutFrom(
  source: SessionFolder,
  log: LogTerms & { readonly from: ReadTo },
  { through, durableSeq }: InheritTerms,
): Promise<Cut> {
  let end = placeOf(log.from)
  const rest: LogBatch[] = []
  for await (const batches of readLog(source, log)) {
    for (const batch of batches) {
      const { start, end: after, segment, events } = batch
      if (start.tail.seq >= through && events.length > 0) return { end, rest }
      const isKnown = batch.isDurable || after.tail.seq <= durableSeq
      if (after.tail.seq <= through && isKnown && rest.length === 0) end = placeOf({ ...after, segment })
      else rest.push(batch)
    }
  }
  return { end, rest }
}

function beginning({ id }: SessionFolder, { links }: Chain): ReadTo {
  const [first] = links
  if (first) return { ...first.start, segment: first.name }
  throw corrupt(id, { segment: '.', reason: 'holds no log' })
}

function placeOf({ segment, offset, tail }: Omit<ReadTo, 'lines'>): Predecessor {
  return { segment, bytes: offset, seq: tail.seq, digest: tail.digest }
}

/** The files with the links up to where the fork is cut, and the newest snapshots of what is inherited. */
async function filesOf(
  source: SessionFolder,
  { links }: Chain,
  end: Predecessor,
): Promise<Pick<Inheritance, 'files' | 'snapshots'>> {
  const { names, packs } = await listPacked(source)
  const wanted = links.slice(0, links.findIndex(({ name }) => name === end.segment) + 1)
  const files = wanted.map(({ name }) => packs.find(({ byName }) => byName.has(name))?.name ?? name)
  const snapshots = snapshotsIn(names).filter(({ seq }) => seq <= end.seq)
  return {
    files: [...new Set(files)],
    snapshots: snapshots.slice(0, snapshotsKeptMax).map(({ name }) => name),
  }
}

/** What stands in a snapshot's place may be no file, or refused: the fork reads the log then, as its source does. */
async function shareSnapshot(source: SessionFolder, into: SessionFolder, name: string): Promise<void> {
  try {
    await share(source, into, name)
  } catch (error) {
    const isUnfit = isSessionError(error) && error.code === 'STORAGE_FAILED'
    if (!isSystemFailure(error) && !isUnfit) throw error
  }
}

async function share(source: SessionFolder, into: SessionFolder, name: string): Promise<void> {
  const [from, to] = [join(source.path, name), join(into.path, name)]
  try {
    await into.port.link(from, to)
  } catch (error) {
    if (!hasReason(error, ...unlinkable)) throw error
    await copy(into.port, from, to)
  }
}

async function copy(port: JournalPort, from: string, to: string): Promise<void> {
  const { file: source, stat } = await openFile(port, from)
  try {
    await createFilled(port, to, async (file) => {
      let offset = 0
      for await (const piece of readPieces(source, 0, stat.sizeBytes)) {
        await writeAll(file, piece, offset)
        offset += piece.length
      }
      await file.sync()
    })
  } finally {
    await source.close()
  }
}
