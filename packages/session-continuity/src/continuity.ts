import type { Host, SessionView } from '@tidemark/session-core'
import { Entrance, clipped, type Asker, type OpenRequest } from './entrance.ts'
import type { Operation } from './grants.ts'
import type { Handle } from './handle.ts'
import type { Orphan } from './orphan.ts'
import { Recovery, type RecoverRequest } from './recovery.ts'
import { acknowledgeAction, nameOf, noteOf } from './acknowledged.ts'
import type { Recorded } from './records.ts'
import { refusal } from './refusal.ts'
import { noteRefusal } from './refusals.ts'
import { refuseScope } from './scope.ts'
import type { Terms } from './terms.ts'
import { verificationOf, type Verification } from './verification.ts'

export interface Asking {
  readonly as: Handle
}

export interface AcknowledgeRequest extends Asking {
  readonly reason: string
}

/**
 * Who may carry a session over a restart: `ctx.continuity`.
 *
 * 1. Nothing that is stored is touched for a caller who has no grant now.
 * 2. What is missing, damaged, another store's or rolled back is refused, by that name, and never opened afresh.
 * 3. Every refused attempt is counted.
 */
export class Continuity {
  private readonly entrance: Entrance
  private readonly recovery: Recovery
  private ends: Promise<PromiseSettledResult<void>[]> | undefined

  constructor(
    protected readonly ctx: Host | undefined,
    private readonly terms: Terms,
  ) {
    this.entrance = new Entrance(terms)
    this.recovery = new Recovery(terms, this.entrance)
  }

  /** Attempts that were refused since the service started, also those that the log of them has no room for. */
  get refusedCount(): number {
    return this.terms.refusals.count
  }

  /**
   * Begins a scope that nobody has seen, or resumes a known one: the one is never taken for the other.
   * @throws SessionError with `details.reason`: `DENIED` (no-grant, bad-credential, anonymous, weaker-assurance,
   * stale-credential), `NOT_FOUND` (unknown-scope), `EXISTS` (known-scope), `CORRUPT` (lost-state, behind-witness,
   * other-store, no-witness, damaged), `STORAGE_FAILED` (unavailable), `INVALID_ID` (bad-scope).
   */
  async open(request: OpenRequest): Promise<Handle> {
    return this.attempt(request.mode, request.scope, (asker) => this.entrance.open(request, asker))
  }

  /**
   * For an operator: a new generation of a scope whose state is lost, damaged or rolled back, at the highest label
   * that the state, the witness or the audit proves. Of a scope that nothing is left of, nothing is made.
   * @throws SessionError as `open` does.
   */
  async recover(scope: string, request: RecoverRequest): Promise<Handle> {
    return this.attempt('recover', scope, (asker) => this.recovery.recover(scope, request, asker))
  }

  /** Incarnations of the handle's scope that ended without closing, and that nobody has acknowledged. */
  async orphans({ as }: Asking): Promise<readonly Orphan[]> {
    return this.attemptAs('orphans', as, async (handle) => {
      const recorded = await this.recordsOf(handle)
      return recorded.filter(({ life }) => life === 'orphaned').map(asOrphan)
    })
  }

  /**
   * Takes an orphan off the list, which is recorded in the chain of the handle.
   * @throws SessionError `LOCKED` (living), `NOT_FOUND` (no-orphan), `DENIED`.
   */
  async acknowledge(incarnation: string, { as, reason }: AcknowledgeRequest): Promise<void> {
    return this.attemptAs('acknowledge', as, async (handle) => {
      const named = (await this.recordsOf(handle)).filter((each) => nameOf(each) === incarnation)
      const found = named.find(({ life }) => life === 'orphaned') ?? named[0]
      const judged = this.terms.rules.judgeAcknowledge(found?.life)
      if (judged || !found)
        throw refusal(judged ?? 'no-orphan', 'it cannot be acknowledged; nothing was changed')
      await handle.record(acknowledgeAction, { ...noteOf(found), reason: clipped(reason) })
    })
  }

  /**
   * Reads everything that is stored of a scope, and says what is wrong, and what could not be checked. Changes nothing.
   * It needs no handle, so that it also serves where none is to be had.
   */
  async verify(scope: string, { credential }: { readonly credential?: unknown }): Promise<Verification> {
    return this.attempt('verify', scope, async (asker) => {
      const { authentication, grants, rules, store } = this.terms
      refuseScope(scope)
      const principal = (asker.principal = await authentication.authenticate(credential))
      const current = await grants.current(principal, scope)
      if (!rules.isAllowed('verify', { current })) throw refusal('no-grant', 'no grant for verify')
      const identity = await store.identify()
      const storeId = identity.storeId ?? identity.witnessedId
      const access = storeId === undefined ? undefined : this.entrance.accessOf(scope, storeId)
      const { hasStrays = false } = identity
      return verificationOf({ access, store: rules.judgeStore(identity), hasStrays, principal })
    })
  }

  /**
   * The label that a session has reached, living or stored: it stands in its log, and never falls.
   * @throws SessionError `UNSUPPORTED_FORMAT` (`unknown-label`), and where it cannot be told `PROJECTION_FAILED` or
   * `NOT_LOADED`: treat it as the highest then.
   */
  labelOf(session: SessionView): string {
    return this.terms.sessionLabels.labelOf(session)
  }

  /** The handle that a value is, of this service and open; `undefined` for anything else. */
  findHandle(value: unknown): Handle | undefined {
    return this.terms.handles.find(value)
  }

  /** Closes what is open, each after its sessions; from then on nothing is opened. What fails, `close` tells. */
  async closeHandles(): Promise<void> {
    this.ends ??= Promise.allSettled(this.terms.handles.close().map((handle) => handle.close()))
    await this.ends
  }

  /** Closes all that is left. */
  async close(): Promise<void> {
    await this.closeHandles()
    const ends = (await this.ends) ?? []
    await this.terms.refusals.close()
    await this.terms.closeStore()
    const failed = ends.find((end) => end.status === 'rejected')
    if (failed) throw failed.reason
  }

  private async recordsOf(handle: Handle): Promise<readonly Recorded[]> {
    const identity = await this.entrance.identity()
    if (identity.kind !== 'known') throw refusal('lost-state', 'the store is gone; nothing was changed')
    return this.entrance.accessOf(handle.scope, identity.storeId).records.survey()
  }

  private attemptAs<T>(operation: Operation, as: Handle, work: (handle: Handle) => Promise<T>): Promise<T> {
    return this.attempt(operation, undefined, async (asker) => {
      const handle = this.findHandle(as)
      if (!handle) throw refusal('closed', 'this is no open handle')
      asker.principal = handle.principal
      await handle.requireGrant(operation)
      await handle.update()
      return work(handle)
    })
  }

  private async attempt<T>(
    operation: Operation,
    scope: string | undefined,
    work: (asker: Asker) => Promise<T>,
  ): Promise<T> {
    const asker: Asker = {}
    try {
      if (this.terms.handles.isOver) throw refusal('reloading', 'continuity is being unloaded')
      return await work(asker)
    } catch (error) {
      noteRefusal(this.terms.refusals, operation, { error, ...asker, scope })
      throw error
    }
  }
}

function asOrphan(recorded: Recorded): Orphan {
  const { number, principal = '', startedAt, entriesCount, fault } = recorded
  const incarnation = nameOf(recorded)
  return { number, incarnation, principal, startedAt, entriesCount, isIntact: fault === undefined }
}
