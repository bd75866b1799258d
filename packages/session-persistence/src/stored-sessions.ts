import {
  historyTerms,
  pageOf,
  refuseId,
  type AnySessionEvent,
  type HistoryPage,
  type Host,
  type Session,
  type Sessions,
} from '@tidemark/session-core'
import { Following } from './following.ts'
import { Forks } from './forks.ts'
import { receiptOf, receiptedIn } from './kept-receipt.ts'
import { keptMeta } from './kept-meta.ts'
import type {
  CreateRequest,
  InspectRequest,
  ListRequest,
  ResumeRequest,
  StoredHistoryRequest,
} from './request.ts'
import type { Lease, Tail } from './storage.ts'
import { StoreAccess, type StoreOptions } from './store-access.ts'
import { asUnknown, seedOf, type StoredSession } from './stored-session.ts'
import type { StoredView } from './stored-view.ts'
import type { SessionSummary, SummaryPage } from './summary.ts'
import { Upkeep } from './upkeep.ts'
import type { WriteBehind } from './write-behind.ts'

const pageLength = 50

/**
 * What `Persistence` does when it is on. `sessions` is always the caller's: what is made with it belongs to
 * the caller.
 *
 * 1. The caller's permission comes first, so that no other refusal reveals anything.
 * 2. History is read and understood before the session is claimed, so that what cannot go on spends no epoch.
 * 3. A claim ends up in a living session, or is released. Of a session that comes to nothing, a resume leaves what there
 *    was, and a create or a fork nothing, as long as the storage lets them.
 */
export class StoredSessions {
  readonly forks: Forks
  readonly upkeep: Upkeep
  readonly following: Following
  private readonly access: StoreAccess

  constructor(host: Host, sessions: Sessions, options: StoreOptions) {
    this.access = new StoreAccess(host, sessions, options)
    this.forks = new Forks(this.access)
    this.upkeep = new Upkeep(this.access)
    this.following = new Following(this.access)
  }

  create(sessions: Sessions, { id, meta, as }: CreateRequest): Promise<Session> {
    const header = sessions.newHeader({ id, meta: keptMeta(meta) })
    refuseId(header.id)
    const { authorization, open, storage } = this.access
    return open.run(async () => {
      const claim = this.access.newClaim()
      const { incarnation } = claim
      const asked = { operation: 'create', sessionId: header.id, incarnation, as, header } as const
      const confirm = await authorization.requireOpening(asked)
      return open.reserve(header.id, 'EXISTS', async () => {
        const lease = await storage.create(header, { claim })
        const make = (recorder: WriteBehind): Session => {
          const history = this.access.historyOf(header.id, () => recorder.tails)
          return sessions.create({ header, recorder, history, incarnation })
        }
        const undo = (made: Lease): Promise<void> => this.access.takeBack(made)
        return open.bind(lease, make, { confirm, undo, permit: authorization.toWrite(header, as) })
      })
    })
  }

  resume(sessions: Sessions, id: string, request: ResumeRequest): Promise<Session> {
    const { carry = [], force = false, as } = request
    const receipt = receiptedIn(request.receipt)
    const { authorization, open, storage } = this.access
    return open.run(async () => {
      const claim = this.access.newClaim(carry)
      const { incarnation } = claim
      const confirm = await authorization.requireOpening({
        operation: 'resume',
        sessionId: id,
        incarnation,
        as,
      })
      return open.reserve(id, 'LOCKED', async () => {
        const read = await this.access.read(id, { receipt, carry })
        await seedOf(read.view)
        const terms = { claim, ...(force && { force }), ...(receipt && { receipt }) }
        const lease = await asUnknown(id, () => storage.acquire(id, terms))
        const { recovered = [] } = lease
        let claimed = read
        return open.bind(
          lease,
          async (recorder) => {
            claimed = await this.asClaimed(read, lease, carry)
            const { view } = claimed
            const history = this.access.historyOf(id, () => recorder.tails)
            const source = await this.access.originOf(view, recovered)
            const seed = await seedOf(view)
            const inherited = { header: view.header, seed, source, recovered, carry }
            const session = sessions.create({ ...inherited, recorder, history, incarnation })
            for (const record of recovered) sessions.tellRecovered(session, record)
            return session
          },
          { origin: () => claimed, confirm, permit: authorization.toWrite(read.view.header, as) },
        )
      })
    })
  }

  inspect(id: string, { carry = [], as, ...wanted }: InspectRequest): Promise<StoredView> {
    const receipt = receiptedIn(wanted.receipt)
    const { authorization, open } = this.access
    return open.run(async () => {
      await authorization.require({ operation: 'inspect', sessionId: id, as })
      const { view, durableSeq, rest } = await this.access.read(id, {
        through: wanted.through,
        receipt,
        carry,
      })
      return Object.assign(view, { durableSeq, rest })
    })
  }

  history(id: string, { as, ...request }: StoredHistoryRequest): Promise<HistoryPage<AnySessionEvent>> {
    const { authorization, open } = this.access
    return open.run(async () => {
      await authorization.require({ operation: 'history', sessionId: id, as })
      const { seq } = await this.access.tailOf(id)
      const terms = historyTerms(request, seq + 1)
      return pageOf(await this.access.historyOf(id).page(terms), terms)
    })
  }

  /**
   * Asks the storage for as many as are still missing, so that a page never ends at one that is not shown.
   */
  list({ after, countMax = pageLength, as }: ListRequest): Promise<SummaryPage> {
    const { authorization, open, storage } = this.access
    return open.run(async () => {
      const shown: SessionSummary[] = []
      let next = after
      do {
        const page = await storage.list({
          countMax: countMax - shown.length,
          ...(next !== undefined && { after: next }),
        })
        for (const summary of page.sessions) {
          const isOk = summary.status === 'ok'
          const known = { sessionId: summary.id, ...(isOk && { header: summary.header }) }
          if (await authorization.allows({ operation: 'list', as, ...known })) shown.push(summary)
        }
        next = page.next
      } while (next !== undefined && shown.length < countMax)
      return { sessions: shown, ...(next !== undefined && { next }) }
    })
  }

  /** Ends every session that is open through here. */
  close(): Promise<void> {
    return this.access.open.close()
  }

  /** The history that the lease goes on from: read again if somebody wrote between reading and claiming. */
  private async asClaimed(
    read: StoredSession,
    { tail, header }: Lease,
    carry: readonly string[],
  ): Promise<StoredSession> {
    return isSame(read.tail, tail)
      ? read
      : this.access.read(header.id, { through: tail.seq, receipt: receiptOf(tail), carry })
  }
}

function isSame(a: Tail, b: Tail): boolean {
  return a.seq === b.seq && a.digest === b.digest
}
