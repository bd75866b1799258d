import { assertLossless, refuseId, type Session, type Sessions } from '@tidemark/session-core'
import type {
  AnySessionEvent,
  Host,
  JsonObject,
  SessionHeader,
  SessionSeed,
  SessionView,
} from '@tidemark/session-core'
import { Authorization, type AuthorizationMode } from './authorization.ts'
import { encodeEvent } from './encoded-event.ts'
import { OpenSessions } from './open-sessions.ts'
import type { CreateRequest, ForkRequest, ListRequest, ReadRequest } from './request.ts'
import type { Claim, EnabledBy, Lease, SessionStorage, Tail } from './storage.ts'
import { asUnknown, readStored, upTo, withWriter, type StoredSession } from './stored-session.ts'
import type { SessionSummary, SummaryPage } from './summary.ts'
import { TypedStorage } from './typed-storage.ts'

export interface StoredSessionsOptions {
  readonly storage: SessionStorage
  readonly enabledBy: EnabledBy
  readonly flushDelayMs: number
  readonly pendingSizeBytesMax: number
  readonly authorize: AuthorizationMode
}

const pageLength = 50

/**
 * What `Persistence` does when it is on. `sessions` is always the caller's: what is made with it belongs to
 * the caller.
 *
 * 1. The caller's permission comes first, so that no other refusal reveals anything.
 * 2. History is read and understood before the session is claimed.
 * 3. A claim ends up in a living session, or is released.
 */
export class StoredSessions {
  private readonly storage: SessionStorage
  private readonly authorization: Authorization
  private readonly open: OpenSessions

  constructor(
    host: Host,
    private readonly sessions: Sessions,
    private readonly options: StoredSessionsOptions,
  ) {
    const { storage, flushDelayMs, pendingSizeBytesMax, authorize } = options
    this.storage = new TypedStorage(storage)
    this.authorization = new Authorization(host, authorize)
    const report = (error: unknown): void => host.logger.error(error)
    const { capabilities } = storage
    this.open = new OpenSessions({ sessions, capabilities, flushDelayMs, pendingSizeBytesMax, report })
  }

  create(sessions: Sessions, { id, meta, as }: CreateRequest): Promise<Session> {
    const header = sessions.newHeader({ id, meta: keep(meta) })
    refuseId(header.id)
    return this.open.run(async () => {
      await this.authorization.require({ operation: 'create', sessionId: header.id, as })
      return this.open.reserve(header.id, 'EXISTS', async () => {
        const claim = this.newClaim()
        const lease = await this.storage.create(header, { claim })
        return this.open.bind(lease, (recorder) =>
          sessions.create({ header, recorder, incarnation: claim.incarnation }),
        )
      })
    })
  }

  resume(sessions: Sessions, id: string, { carry = [], as }: ReadRequest): Promise<Session> {
    return this.open.run(async () => {
      await this.authorization.require({ operation: 'resume', sessionId: id, as })
      return this.open.reserve(id, 'LOCKED', async () => {
        const stored = await readStored(this.storage, id)
        this.view(stored, carry)
        const claim = this.newClaim(carry)
        const lease = await asUnknown(id, () => this.storage.acquire(id, { claim }))
        return this.open.bind(lease, async (recorder) => {
          const { header, events: seed } = await this.asClaimed(stored, lease)
          return sessions.create({ header, seed, carry, recorder, incarnation: claim.incarnation })
        })
      })
    })
  }

  fork(sessions: Sessions, source: string | Session, request: ForkRequest): Promise<Session> {
    const parentId = typeof source === 'string' ? source : source.id
    const { id: childId = globalThis.crypto.randomUUID(), as } = request
    const terms = { childId, meta: keep(request.meta), through: request.through, carry: request.carry ?? [] }
    refuseId(childId)
    return this.open.run(async () => {
      await this.authorization.require({ operation: 'fork', sessionId: parentId, childId, as })
      return this.open.reserve(childId, 'EXISTS', async () => {
        const living = typeof source === 'string' ? sessions.find(source) : source
        return living ? this.forkLiving(sessions, living, terms) : this.forkStored(sessions, parentId, terms)
      })
    })
  }

  inspect(id: string, { carry = [], as }: ReadRequest): Promise<SessionView> {
    return this.open.run(async () => {
      await this.authorization.require({ operation: 'inspect', sessionId: id, as })
      return this.view(await readStored(this.storage, id), carry)
    })
  }

  /**
   * Asks the storage for as many as are still missing, so that a page never ends at one that is not shown.
   */
  list({ after, countMax = pageLength, as }: ListRequest): Promise<SummaryPage> {
    return this.open.run(async () => {
      const shown: SessionSummary[] = []
      let next = after
      do {
        const page = await this.storage.list({
          countMax: countMax - shown.length,
          ...(next !== undefined && { after: next }),
        })
        for (const summary of page.sessions) {
          if (await this.authorization.allows({ operation: 'list', sessionId: summary.id, as }))
            shown.push(summary)
        }
        next = page.next
      } while (next !== undefined && shown.length < countMax)
      return { sessions: shown, ...(next !== undefined && { next }) }
    })
  }

  /** Ends every session that is open through here. */
  close(): Promise<void> {
    return this.open.close()
  }

  private async forkLiving(sessions: Sessions, parent: Session, terms: ForkTerms): Promise<Session> {
    const { through: asked = parent.log.length - 1 } = terms
    parent.seed(asked) // refuses a seq that is not there
    const isStored = parent.kind === 'stored'
    if (isStored && asked > parent.durableSeq) await parent.flush()
    // What a flush leaves is a boundary that waits alone: the child has its own.
    const through = isStored ? Math.min(asked, parent.durableSeq) : asked
    // A session that another persistence keeps may bear the id of a different one here.
    const isOurs = this.open.holds(parent)
    const header = sessions.forkHeader(parent.header, through, forkNames(terms))
    const claim = this.newClaim(parent.carried)
    // Of a session that has nothing but such a boundary, nothing is inherited.
    const seed = through === -1 ? [] : parent.seed(through)
    const lease = isOurs
      ? await asUnknown(parent.id, () => this.storage.fork({ id: parent.id, through }, header, claim))
      : await this.storage.create(header, { claim, seed: [...parent.log.range(0, through)].map(encodeEvent) })
    return this.bind(sessions, lease, { header, seed, carry: parent.carried, claim })
  }

  private async forkStored(sessions: Sessions, parentId: string, terms: ForkTerms): Promise<Session> {
    const stored = await readStored(this.storage, parentId)
    const through = terms.through ?? stored.events.length - 1
    const { header: parent, events: seed } = upTo(stored, through)
    const { carry } = terms
    this.view(upTo(stored, through), carry)
    const header = sessions.forkHeader(parent, through, forkNames(terms))
    const claim = this.newClaim(carry)
    const lease = await asUnknown(parentId, () => this.storage.fork({ id: parentId, through }, header, claim))
    return this.bind(sessions, lease, { header, seed, carry, claim })
  }

  /** A fork is written in any case. Without its boundary a reader would take for live what it inherited. */
  private bind(sessions: Sessions, lease: Lease, { claim, ...options }: Beginning): Promise<Session> {
    const { incarnation } = claim
    return this.open.bind(lease, (recorder) => sessions.create({ ...options, recorder, incarnation }), 'now')
  }

  /** The history that the lease goes on from: read again if somebody wrote between reading and claiming. */
  private async asClaimed(stored: StoredSession, { tail, header }: Lease): Promise<StoredSession> {
    if (isSame(stored.tail, tail)) return stored
    return upTo(await readStored(this.storage, header.id), tail.seq)
  }

  /** @throws SessionError `UNKNOWN_TYPE` and what else a history can be refused for. */
  private view(stored: StoredSession, carry: readonly string[]): SessionView {
    try {
      return this.sessions.view(stored.header, stored.events, carry)
    } catch (error) {
      throw withWriter(stored, error)
    }
  }

  private newClaim(carry: readonly string[] = []): Claim {
    const incarnation = globalThis.crypto.randomUUID()
    return { incarnation, enabledBy: this.options.enabledBy, ...(carry.length > 0 && { carry }) }
  }
}

interface ForkTerms {
  readonly childId: string
  readonly meta: JsonObject | undefined
  readonly through: number | undefined
  readonly carry: readonly string[]
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

function isSame(a: Tail, b: Tail): boolean {
  return a.seq === b.seq && a.digest === b.digest
}

/**
 * A copy of the host's own part of a header, so that it stays what is stored.
 * @throws SessionError `INVALID_PAYLOAD`.
 */
function keep(meta: JsonObject | undefined): JsonObject | undefined {
  if (meta === undefined) return undefined
  assertLossless(meta, { type: 'meta' })
  return JSON.parse(JSON.stringify(meta)) as JsonObject
}
