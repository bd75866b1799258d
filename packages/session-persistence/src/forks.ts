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
import { receiptedIn } from './kept-receipt.ts'
import { noEventAt } from './refused-read.ts'
import type { ForkRequest } from './request.ts'
import type { Claim, Lease, Receipted } from './storage.ts'
import type { StoreAccess } from './store-access.ts'
import { asUnknown, seedOf } from './stored-session.ts'

/** Stored sessions that inherit from others. */
export class Forks {
  constructor(private readonly access: StoreAccess) {}

  fork(sessions: Sessions, source: string | Session, request: ForkRequest): Promise<Session> {
    const parentId = typeof source === 'string' ? source : source.id
    const { id: childId = globalThis.crypto.randomUUID(), through, carry = [], as } = request
    const receipt = receiptedIn(request.receipt)
    const meta = keptMeta(request.meta)
    const terms = { childId, meta, through, carry, receipt, as }
    refuseId(childId)
    const { authorization, open } = this.access
    return open.run(async () => {
      const childHeader = { id: childId, ...(meta && { meta }) }
      await authorization.require({ operation: 'fork', sessionId: parentId, childId, childHeader, as })
      return open.reserve(childId, 'EXISTS', async () => {
        const living = typeof source === 'string' ? sessions.find(source) : source
        if (living === undefined) return this.forkStored(sessions, parentId, terms)
        return this.forkLiving(sessions, living, terms)
      })
    })
  }

  private async forkLiving(sessions: Sessions, parent: Session, terms: ForkTerms): Promise<Session> {
    const { storage, open } = this.access
    const { through: asked = parent.log.length - 1 } = terms
    refuseOutside(parent, asked)
    // A session that another persistence keeps may bear the id of a different one here.
    const isOurs = open.holds(parent)
    if (terms.receipt) await this.refuseUnheld(parent.id, isOurs, terms.receipt)
    const isStored = parent.kind === 'stored'
    if (isStored && asked > parent.durableSeq) await parent.flush()
    // What a flush leaves is what the parent started with, and waits alone: the child has a boundary of its own.
    const through = isStored ? Math.min(asked, parent.durableSeq) : asked
    const { carried: carry } = parent
    // What was let go of, and the states there were, are found in the storage.
    if (isOurs && parent.log.base > 0)
      return this.forkStored(sessions, parent.id, { ...terms, through, carry })
    const header = sessions.forkHeader(parent.header, through, forkNames(terms))
    const claim = this.access.newClaim(carry)
    // Of a session that has nothing but such a start, nothing is inherited.
    const seed = through === -1 ? [] : parent.seed(through)
    const lease = isOurs
      ? await asUnknown(parent.id, () => storage.fork({ id: parent.id, through }, header, claim))
      : await storage.create(header, { claim, seed: await encodedThrough(parent, through) })
    return this.bind(sessions, lease, { header, seed, source: parent, carry, claim, as: terms.as })
  }

  private async forkStored(sessions: Sessions, parentId: string, terms: ForkTerms): Promise<Session> {
    const { storage } = this.access
    const { carry, receipt } = terms
    const read = await this.access.read(parentId, {
      through: terms.through,
      receipt,
      carry,
    })
    const { view } = read
    const through = view.log.length - 1
    const seed = await seedOf(view)
    const isCut = terms.through !== undefined
    const source = isCut ? await this.wholeOf(sessions, parentId, carry) : view
    const header = sessions.forkHeader(view.header, through, forkNames(terms))
    const claim = this.access.newClaim(carry)
    const lease = await asUnknown(parentId, () => storage.fork({ id: parentId, through }, header, claim))
    return this.bind(sessions, lease, { header, seed, source, carry, claim, read, as: terms.as })
  }

  /** As it is now: a living one may know more than what is stored of it. */
  private async wholeOf(sessions: Sessions, id: string, carry: readonly string[]): Promise<SessionSource> {
    const living = sessions.find(id)
    return living && this.access.open.holds(living) ? living : this.access.sourceOf(id, carry)
  }

  /** A receipt speaks of what is stored, and so it is looked for there. */
  private async refuseUnheld(id: string, isOurs: boolean, receipt: Receipted): Promise<void> {
    if (!isOurs) throw new SessionError('INVALID_SEQ', `${id}: is not stored here, and no receipt is of it`)
    const { batches } = await this.access.storage.read(id, { from: Math.max(0, receipt.seq), receipt })
    for await (const _ of batches);
  }

  /** A fork is written in any case. Without its boundary a reader would take for live what it inherited. */
  private bind(sessions: Sessions, lease: Lease, beginning: Beginning): Promise<Session> {
    const { claim, read = { snapshotSeq: -1 }, as, ...options } = beginning
    const { incarnation } = claim
    const history = this.access.historyOf(options.header.id)
    return this.access.open.bind(
      lease,
      (recorder) => sessions.create({ ...options, recorder, history, incarnation }),
      {
        boundary: 'now',
        origin: () => read,
        permit: this.access.authorization.toWrite(options.header, as),
      },
    )
  }
}

interface ForkTerms {
  readonly childId: string
  readonly meta: JsonObject | undefined
  readonly through: number | undefined
  readonly carry: readonly string[]
  readonly receipt: Receipted | undefined
  readonly as: unknown
}

interface Beginning {
  readonly header: SessionHeader
  readonly seed: Iterable<AnySessionEvent> | SessionSeed
  readonly source: SessionSource
  readonly carry: readonly string[]
  readonly claim: Claim
  readonly read?: Origin
  readonly as: unknown
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

function forkNames({ childId, meta }: ForkTerms): { id: string; meta: JsonObject | undefined } {
  return { id: childId, meta }
}
