import { join } from 'node:path'
import {
  SessionError,
  isSessionError,
  type SessionHeader,
  type SessionRecovered,
} from '@tidemark/session-core'
import { RecentBatches } from '../acceptance.ts'
import type { Claim, Receipted } from '../storage.ts'
import { begin, type Begun } from './beginning.ts'
import type { LogBatch, LogTerms } from './chain-reader.ts'
import { emptyDigest, sessionIn, type Chain } from './chain.ts'
import { corrupt } from './failure.ts'
import type { Durability } from './lease-head.ts'
import { JournalLease } from './lease.ts'
import { SessionLock, findHolder, spentLocks } from './lock.ts'
import { LogActivity } from './log-activity.ts'
import { readToEnd, type LogEnd } from './log-reader.ts'
import { createSegment, fenced, giveUp, look, orFenced, type OwnSegment } from './own-segment.ts'
import { hasReason } from './port.ts'
import { dropAside, setAside } from './quarantine.ts'
import type { SessionFolder } from './segment-file.ts'
import { parseName, segmentName } from './segment-name.ts'
import { foldRecovered } from './fold-recovered.ts'
import { decideSuccession, nameOf, outstanding } from './succession.ts'
import { cleanUp } from './writing.ts'

/** Epochs that others took while this claimant tried to. */
const attemptsMax = 32

export interface ClaimTerms {
  readonly claim: Claim
  /** Of the store: only its users can name its locks. */
  readonly secret: string
  readonly durability: Durability
  readonly force?: boolean | undefined
  readonly receipt?: Receipted | undefined
  readonly onRelease: (lease: JournalLease) => void
}

/** How a claimant learns where the log ends: an operator may say that it ends earlier. */
export type Learn = (folder: SessionFolder, before?: Learned) => Promise<Learned>

/** What a claimant knows of a log. */
export interface Learned {
  readonly end: LogEnd
  readonly recent: RecentBatches
  /** Recoveries that events of the log tell of. */
  readonly told: ReadonlySet<string>
  readonly activity: LogActivity
  /** What a record says where an operator, and not the recovery rule, said where the log ends. */
  readonly decided?: Pick<SessionRecovered, 'reason' | 'evidence'>
}

/**
 * Claims a session that exists: creates the next epoch's segment, then reads the log to its end, then writes
 * header and first batch, then looks. In any other order two writers could both believe that they are the
 * only one.
 *
 * @throws SessionError `NOT_FOUND`, `LOCKED`, `CORRUPT`, `UNSUPPORTED_FORMAT` before anything is created; `FENCED`.
 */
export async function claimSession(
  folder: SessionFolder,
  terms: ClaimTerms,
  learn: Learn = learnFor(terms.receipt),
): Promise<JournalLease> {
  const { secret, force = false } = terms
  const holder = await findHolder(folder)
  const lock = await SessionLock.take(folder, { secret, force, holder })
  try {
    if (holder) await lock.refuseHolder(holder)
    const before = await learn(folder)
    const own = await createNext(folder, before.end.chain.epoch)
    try {
      return await goOn(own, before, { terms, lock, learn })
    } catch (error) {
      await giveUp(own)
      throw error
    }
  } catch (error) {
    await lock.release()
    throw error
  }
}

interface Claiming {
  readonly terms: ClaimTerms
  readonly lock: SessionLock
  readonly learn: Learn
}

async function goOn(
  own: OwnSegment,
  before: Learned,
  { terms, lock, learn }: Claiming,
): Promise<JournalLease> {
  const { folder, name } = own
  // A later claimant removes the sockets of earlier ones.
  const socket = await orFenced(folder, () => lock.announce(name.epoch))
  const learned = await learn(folder, before)
  const { end, recent, told, activity } = learned
  if (end.chain.epoch > name.epoch) throw fenced(folder.id, `epoch ${end.chain.epoch} was claimed`)
  const newest = end.chain.links.at(-1)
  const untold = newest ? outstanding(newest, told) : []
  const recovered = foldRecovered([...untold, ...(await recover(own, learned))])
  const session: SessionHeader = sessionIn(end.chain, folder.id)
  const succession = decideSuccession(end)
  let begun: Begun
  try {
    begun = await begin(own, { session, claim: terms.claim, socket, recovered, succession })
  } catch (error) {
    if (end.torn) await dropAside(folder, end.torn, name.epoch) // no header names the copy
    throw error
  }
  await own.file.sync()
  for (const name of spentLocks(await look(own), own.name.epoch))
    await cleanUp(() => folder.port.unlink(join(folder.path, name)))
  const log = emptyDigest(end.chain)
  return JournalLease.start({ own, lock, session, recovered, recent, activity, log, ...begun }, terms)
}

/** Sets aside what a crash left after the log, before anything goes on without it. */
async function recover(own: OwnSegment, { end, decided }: Learned): Promise<readonly SessionRecovered[]> {
  const { torn, durable, tail } = end
  if (torn === undefined) return []
  const { segment, offset, sizeBytes } = torn
  const digest = await setAside(own.folder, torn, own.name.epoch)
  const where = { segment, offset, sizeBytes, digest }
  const proof = { lastSeq: tail.seq, durableSeq: durable.seq, evidence: durable.by }
  return [{ reason: torn.class, ...where, ...proof, ...decided }]
}

/** What a claimant reads of a log: its end, and the batches before that may come again. */
const nearEnd = { kind: 'end', sizeBytes: 65_536, isTelling: true } as const

/** How often a log is read anew that others take over while it is read. */
const readsMax = 3

/** Goes on from what was read before; anew, when somebody who took over has dropped some of that. */
function learnFor(receipt: Receipted | undefined): Learn {
  return async (folder, before) => {
    let known = before
    for (let reads = 1; ; reads++) {
      try {
        return await learnOnce(folder, { known, receipt })
      } catch (error) {
        if (!isSessionError(error) || error.code !== 'TAIL_MOVED') throw error
        if (reads === readsMax) throw fenced(folder.id, 'others kept taking over while it was read')
        known = undefined
      }
    }
  }
}

interface Terms {
  readonly known: Learned | undefined
  readonly receipt: Receipted | undefined
}

async function learnOnce(folder: SessionFolder, { known, receipt }: Terms): Promise<Learned> {
  const recent = known?.recent ?? new RecentBatches()
  const told = new Set(known?.told)
  const activity = known?.activity ?? new LogActivity()
  const terms = { ...goneTo(known), receipt, start: nearEnd }
  let first: LogBatch | undefined
  const end = await readToEnd(folder, terms, (batch) => {
    first ??= batch
    note(batch, { recent, told, activity })
  })
  if (known === undefined && first && isFirst(first, end.chain)) activity.beginsTheLog()
  if (known === undefined || end.last) return { end, recent, told, activity }
  // Nothing was added: what was the last batch then, and what was proven, still is.
  const { last, durable } = known.end
  return {
    end: { ...end, ...(last && { last }), ...(durable.seq > end.durable.seq && { durable }) },
    recent,
    told,
    activity,
  }
}

function isFirst({ segment, start }: LogBatch, { links: [oldest] }: Chain): boolean {
  return oldest?.name === segment && oldest.start.offset === start.offset
}

/** Where reading goes on: a position, and nothing else that was found with it. */
function goneTo(known: Learned | undefined): Pick<LogTerms, 'from' | 'known'> {
  if (known === undefined) return {}
  const { segment, offset, lines, tail, chain } = known.end
  return { from: { segment, offset, lines, tail }, known: chain }
}

/** Remembers what a later append, or recovery, must not repeat. */
export function note(
  { commit, events, start, end, segment }: LogBatch,
  { recent, told, activity }: { recent: RecentBatches; told: Set<string>; activity: LogActivity },
): void {
  if (events.length > 0) {
    const place = { segment, offset: end.offset }
    recent.add(commit.batchId, { before: start.tail, after: end.tail, place })
  }
  activity.hear(events)
  for (const { type, data } of events) {
    if (type === 'session/recovered') told.add(nameOf(data as SessionRecovered))
  }
}

async function createNext(folder: SessionFolder, epoch: number): Promise<OwnSegment> {
  for (let next = epoch + 1; next <= epoch + attemptsMax; next++) {
    if (parseName(segmentName(next).name).kind !== 'segment') throw spent(folder, epoch)
    try {
      const own = await createSegment(folder, segmentName(next))
      await makeDurable(own)
      return own
    } catch (error) {
      if (!hasReason(error, 'EEXIST')) throw error // another claimant took this one
    }
  }
  throw new SessionError('LOCKED', `${folder.id}: ${attemptsMax} others claimed it meanwhile`, {
    sessionId: folder.id,
  })
}

/** No claim comes so far: somebody put a name into the folder. */
function spent({ id }: SessionFolder, epoch: number): SessionError {
  const reason = `holds a name of epoch ${epoch}, after which no other can be claimed`
  return corrupt(id, { segment: '.', reason })
}

async function makeDurable(own: OwnSegment): Promise<void> {
  try {
    await own.file.sync()
    await own.folder.port.syncFolder(own.folder.path)
  } catch (error) {
    await giveUp(own)
    throw error
  }
}
