import { SessionError, refuseId, type Session, type Sessions } from '@tidemark/session-core'
import type { AnySessionEvent, JsonObject, SessionHeader, SessionSeed } from '@tidemark/session-core'
import { encodeEvent } from './encoded-event.ts'
import { keptMeta } from './kept-meta.ts'
import { receiptedIn } from './kept-receipt.ts'
import type { ForkRequest } from './request.ts'
import type { Claim, Lease, Receipted } from './storage.ts'
import type { StoreAccess } from './store-access.ts'
import { asUnknown, readStored, readThrough } from './stored-session.ts'

/** Stored sessions that inherit from others. */
export class Forks {
  constructor(private readonly access: StoreAccess) {}

  fork(sessions: Sessions, source: string | Session, request: ForkRequest): Promise<Session> {
    const parentId = typeof source === 'string' ? source : source.id
    const { id: childId = globalThis.crypto.randomUUID(), through, carry = [], as } = request
    const receipt = receiptedIn(request.receipt)
    const terms = { childId, meta: keptMeta(request.meta), through, carry, receipt }
    refuseId(childId)
    const { authorization, open } = this.access
    return open.run(async () => {
      await authorization.require({ operation: 'fork', sessionId: parentId, childId, as })
      return open.reserve(childId, 'EXISTS', async () => {
        const living = typeof source === 'string' ? sessions.find(source) : source
        return living ? this.forkLiving(sessions, living, terms) : this.forkStored(sessions, parentId, terms)
      })
    })
  }

  private async forkLiving(sessions: Sessions, parent: Session, terms: ForkTerms): Promise<Session> {
    const { storage, open } = this.access
    const { through: asked = parent.log.length - 1 } = terms
    parent.seed(asked) // refuses a seq that is not there
    // A session that another persistence keeps may bear the id of a different one here.
    const isOurs = open.holds(parent)
    if (terms.receipt) await this.refuseUnheld(parent.id, isOurs, terms.receipt)
    const isStored = parent.kind === 'stored'
    if (isStored && asked > parent.durableSeq) await parent.flush()
    // What a flush leaves is what the parent started with, and waits alone: the child has a boundary of its own.
    const through = isStored ? Math.min(asked, parent.durableSeq) : asked
    const header = sessions.forkHeader(parent.header, through, forkNames(terms))
    const claim = this.access.newClaim(parent.carried)
    // Of a session that has nothing but such a start, nothing is inherited.
    const seed = through === -1 ? [] : parent.seed(through)
    const lease = isOurs
      ? await asUnknown(parent.id, () => storage.fork({ id: parent.id, through }, header, claim))
      : await storage.create(header, { claim, seed: [...parent.log.range(0, through)].map(encodeEvent) })
    return this.bind(sessions, lease, { header, seed, carry: parent.carried, claim })
  }

  private async forkStored(sessions: Sessions, parentId: string, terms: ForkTerms): Promise<Session> {
    const { storage } = this.access
    const { carry } = terms
    const stored = await readThrough(storage, parentId, terms)
    const { header: parent, events: seed } = stored
    const through = seed.length - 1
    this.access.view(stored, carry)
    const header = sessions.forkHeader(parent, through, forkNames(terms))
    const claim = this.access.newClaim(carry)
    const lease = await asUnknown(parentId, () => storage.fork({ id: parentId, through }, header, claim))
    return this.bind(sessions, lease, { header, seed, carry, claim })
  }

  /** A receipt speaks of what is stored, and so it is looked for there. */
  private async refuseUnheld(id: string, isOurs: boolean, receipt: Receipted): Promise<void> {
    if (!isOurs) throw new SessionError('INVALID_SEQ', `${id}: is not stored here, and no receipt is of it`)
    await readStored(this.access.storage, id, { from: receipt.seq, receipt })
  }

  /** A fork is written in any case. Without its boundary a reader would take for live what it inherited. */
  private bind(sessions: Sessions, lease: Lease, { claim, ...options }: Beginning): Promise<Session> {
    const { incarnation } = claim
    return this.access.open.bind(
      lease,
      (recorder) => sessions.create({ ...options, recorder, incarnation }),
      'now',
    )
  }
}

interface ForkTerms {
  readonly childId: string
  readonly meta: JsonObject | undefined
  readonly through: number | undefined
  readonly carry: readonly string[]
  readonly receipt: Receipted | undefined
}

interface Beginning {
  readonly header: SessionHeader
  readonly seed: Iterable<AnySessionEvent> | SessionSeed
  readonly carry: readonly string[]
  readonly claim: Claim
}

function forkNames({ childId, meta }: ForkTerms): { id: string; meta: JsonObject | undefined } {
  return { id: childId, meta }
}
