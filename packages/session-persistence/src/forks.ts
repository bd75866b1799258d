import { SessionError, refuseId, type Session, type Sessions } from '@tidemark/session-core'
import type {
  AnySessionEvent,
  HistoryPage,
  HistoryRequest,
  JsonObject,
  SessionHeader,
  SessionSeed,
  SessionSource,
} from '@tidemark/session-core'
import type { Origin } from './open-sessions.ts'
import { encodeEvent, type EncodedEvent } from './encoded-event.ts'
import { keptMeta } from './kept-meta.ts'
import { receiptOf, receiptedIn } from './kept-receipt.ts'
import { noSnapshot } from './last-snapshot.ts'
import { isCorrupt, noEventAt } from './refused-read.ts'
import type { ForkRequest } from './request.ts'
import { refuseOtherLog, refuseUnheld } from './own-log.ts'
import type { Claim, ForkSource, Lease, Receipted, Tail } from './storage.ts'
import type { StoreAccess } from './store-access.ts'
import { asUnknown, seedOf, untilStill, type StoredSession } from './stored-session.ts'

/** Stored sessions that inherit from others. */
export class Forks {
  constructor(private readonly access: StoreAccess) {}

  fork(sessions: Sessions, source: string | Session, request: ForkRequest): Promise<Session> {
    const parentId = typeof source === 'string' ? source : source.id
    const { id: childId = globalThis.crypto.randomUUID(), through, carry = [], as } = request
    const receipt = receiptedIn(request.receipt)
    const meta = keptMeta(request.meta)
    const incarnation = globalThis.crypto.randomUUID()
    const terms = { childId, incarnation, meta, through, carry, receipt, as }
    refuseId(childId)
    const { authorization, open } = this.access
    return open.run(async () => {
      const child = { childId, childHeader: { id: childId, ...(meta && { meta }) }, incarnation }
      const confirm = await authorization.requireOpening({
        operation: 'fork',
        sessionId: parentId,
        ...child,
        as,
      })
      return open.reserve(childId, 'EXISTS', async () => {
        const living = typeof source === 'string' ? sessions.find(source) : source
        if (living === undefined) return this.forkStored(sessions, parentId, { ...terms, confirm })
        return this.forkLiving(sessions, living, { ...terms, confirm })
      })
    })
  }

  private async forkLiving(sessions: Sessions, parent: Session, terms: ForkTerms): Promise<Session> {
    const { storage, open } = this.access
    const { through: asked = parent.log.length - 1 } = terms
    refuseOutside(parent, asked)
    // A session that another persistence keeps may bear the id of a different one here.
    const tails = open.tailsOf(parent)
    const isOurs = tails !== undefined
    if (terms.receipt) await this.refuseUnheld(parent.id, isOurs, terms.receipt)
    const isStored = parent.kind === 'stored'
    if (isStored && asked > parent.durableSeq) await parent.flush()
    // What a flush leaves is what the parent started with, and waits alone: the child has a boundary of its own.
    const through = isStored ? Math.min(asked, parent.durableSeq) : asked
    const { carried: carry } = parent
    // Its id may be another session's by now.
    const bound = tails && (await this.heldOf(parent.id, through, tails))
    // What was let go of, and the states there were, are found in the storage.
    if (isOurs && parent.log.base > 0)
      return this.forkStored(sessions, parent.id, { ...terms, through, carry, bound })
    const header = sessions.forkHeader(parent.header, through, forkNames(terms))
    const claim = this.access.newClaim(carry, terms.incarnation)
    // Of a session that has nothing but such a start, nothing is inherited.
    const seed = through === -1 ? [] : parent.seed(through)
    const lease = isOurs
      ? await asUnknown(parent.id, () => storage.fork(sourceOf(parent.id, through, bound), header, claim))
      : await storage.create(header, { claim, seed: await encodedThrough(parent, through) })
    const { as, confirm } = terms
    return this.bind(sessions, lease, { header, seed, source: parent, carry, claim, as, confirm })
  }

  private async forkStored(sessions: Sessions, parentId: string, terms: ForkTerms): Promise<Session> {
    const { carry, receipt, through, as, confirm } = terms
    const { lease, ...beginning } = await untilStill(parentId, async () => {
      const read = await this.access.read(parentId, { through, receipt, carry })
      const { view } = read
      const source = through === undefined ? view : await this.wholeOf(sessions, parentId, carry)
      const seed = await seedOf(view)
      const header = sessions.forkHeader(view.header, view.log.length - 1, forkNames(terms))
      const claim = this.access.newClaim(carry, terms.incarnation)
      const lease = await this.forkAsRead(parentId, read, { header, claim, bound: terms.bound })
      return { lease, header, seed, source, claim, read }
    })
    return this.bind(sessions, lease, { ...beginning, carry, as, confirm })
  }

  /** What the child has in memory is what it has in the storage. @throws SessionError `TAIL_MOVED` to read again. */
  private async forkAsRead(
    id: string,
    { view, tail }: StoredSession,
    { header, claim, bound }: { header: SessionHeader; claim: Claim; bound: Receipted | undefined },
  ): Promise<Lease> {
    const { storage } = this.access
    const source = sourceOf(id, view.log.length - 1, bound ?? receiptOf(tail))
    try {
      return await asUnknown(id, () => storage.fork(source, header, claim))
    } catch (error) {
      if (bound || !isCorrupt(error)) throw error
      if (await this.holds(id, tail)) throw error
      const message = `${id}: is another log than a moment ago`
      throw new SessionError('TAIL_MOVED', message, { sessionId: id, cause: error })
    }
  }

  private async holds(id: string, tail: Tail): Promise<boolean> {
    try {
      await refuseOtherLog(id, this.access.storage, [tail])
      return true
    } catch (error) {
      if (!isCorrupt(error)) throw error
      return false
    }
  }

  /** What proves that a log is still the one that ended in one of these places, `through` or later. */
  private heldOf(id: string, through: number, tails: readonly Tail[]): Promise<Receipted | undefined> {
    const later = tails.filter(({ seq }) => seq >= through)
    return untilStill(id, () => refuseOtherLog(id, this.access.storage, later))
  }

  /** As it is now: a living one may know more than what is stored of it. */
  private async wholeOf(sessions: Sessions, id: string, carry: readonly string[]): Promise<SessionSource> {
    const living = sessions.find(id)
    return living && this.access.open.holds(living) ? living : this.access.sourceOf(id, carry)
  }

  /** A receipt speaks of what is stored, and so it is looked for there. */
  private async refuseUnheld(id: string, isOurs: boolean, receipt: Receipted): Promise<void> {
    if (!isOurs) throw new SessionError('INVALID_SEQ', `${id}: is not stored here, and no receipt is of it`)
    await untilStill(id, () => refuseUnheld(id, this.access.storage, receipt))
  }

  /** A fork is written in any case. Without its boundary a reader would take for live what it inherited. */
  private bind(sessions: Sessions, lease: Lease, beginning: Beginning): Promise<Session> {
    const { claim, read = { snapshot: noSnapshot }, as, confirm, ...options } = beginning
    const { incarnation } = claim
    return this.access.open.bind(
      lease,
      (recorder) => {
        const history = this.access.historyOf(options.header.id, () => recorder.tails)
        return sessions.create({ ...options, recorder, history, incarnation })
      },
      {
        boundary: 'now',
        confirm,
        undo: (made) => this.access.takeBack(made),
        origin: () => read,
        permit: this.access.authorization.toWrite(options.header, as),
      },
    )
  }
}

interface ForkTerms {
  readonly childId: string
  readonly incarnation: string
  readonly meta: JsonObject | undefined
  readonly through: number | undefined
  readonly carry: readonly string[]
  readonly receipt: Receipted | undefined
  /** What the source must hold, whatever is read of it. */
  readonly bound?: Receipted | undefined
  readonly as: unknown
  readonly confirm: () => Promise<void>
}

interface Beginning {
  readonly header: SessionHeader
  readonly seed: Iterable<AnySessionEvent> | SessionSeed
  readonly source: SessionSource
  readonly carry: readonly string[]
  readonly claim: Claim
  readonly read?: Origin
  readonly as: unknown
  readonly confirm: () => Promise<void>
}

/** @throws SessionError `INVALID_SEQ` unless it is a seq of the session, or -1 in an empty one. */
function refuseOutside({ id, log }: Session, through: number): void {
  const { length } = log
  if (Number.isInteger(through) && through >= Math.min(0, length - 1) && through < length) return
  throw noEventAt(id, through, length)
}

/** Of a session that is not stored here. */
async function encodedThrough(parent: Session, through: number): Promise<readonly EncodedEvent[]> {
  const events: EncodedEvent[] = []
  let next: HistoryRequest | undefined = through === -1 ? undefined : { through }
  while (next) {
    const page: HistoryPage = await parent.history(next)
    for (const event of page.events) events.push(encodeEvent(event))
    next = page.next
  }
  return events
}

function sourceOf(id: string, through: number, receipt: Receipted | undefined): ForkSource {
  return { id, through, ...(receipt && { receipt }) }
}

function forkNames({ childId, meta }: ForkTerms): { id: string; meta: JsonObject | undefined } {
  return { id: childId, meta }
}
