import type { JsonObject } from '@tidemark/session-core'
import type { Operation } from './grants.ts'
import type { AuditInput, HandleParts, RefreshRequest, ResetRequest } from './handle-parts.ts'
import type { Verdict } from './policy-state.ts'
import type { Principal } from './principal.ts'
import { reasonOf, refusal } from './refusal.ts'
import { boundMeta } from './session-header.ts'
import { TurnQueue } from './turn-queue.ts'

/** Calls that wait for each other on one handle. */
const waitingMax = 1_024

/**
 * One opening of a scope by one principal, in this process.
 *
 * 1. What it acknowledges is durable.
 * 2. `sensitivity` never falls.
 * 3. After a failed `raise` or a failed write it is over, and its incarnation is an orphan.
 */
export class Handle {
  private readonly turns = new TurnQueue(waitingMax)
  private label: string
  private isEnded = false

  constructor(private readonly parts: HandleParts) {
    this.label = parts.state.sensitivity
  }

  /** The incarnation's id: fresh with every opening. */
  get incarnation(): string {
    return this.parts.incarnation.id
  }

  get principal(): Principal {
    return this.parts.principal
  }

  get scope(): string {
    return this.parts.scope
  }

  get generation(): number {
    return this.parts.own.generation
  }

  /** As last heard of; `update` asks. */
  get sensitivity(): string {
    return this.label
  }

  get isOpen(): boolean {
    return !this.isEnded
  }

  /** What a session's metadata must hold for this handle to be let at it. */
  get sessionMeta(): JsonObject {
    return boundMeta(this.parts.principal, this.parts.scope)
  }

  /**
   * Raises the sensitivity, and that of those whom the principal acts for. Never lowers.
   * @throws SessionError with a reason; then the label holds in memory, and the handle is over.
   */
  async raise(label: string): Promise<void> {
    const { labels } = this.parts
    try {
      await this.turn('raise', async () => {
        labels.rankOf(label)
        await this.requireGrant('raise')
        await this.raiseAll(label)
      })
    } catch (error) {
      // A label that nobody can compare might be above all others.
      const worst = labels.has(label) ? label : labels.top
      this.lift(worst)
      await this.fail()
      throw error
    }
  }

  /** Resolves when the entry is durable: what it tells of may happen then, and not before. */
  audit({ action, detail = {} }: AuditInput): Promise<void> {
    return this.turn('audit', async () => {
      if (action.startsWith('continuity/'))
        throw refusal('no-grant', 'actions that begin with "continuity/" are written by continuity itself')
      await this.look()
      await this.write(action, detail)
    })
  }

  /** Asks the store: another instance may have raised the label, or reset the scope. */
  update(): Promise<void> {
    return this.turns.run(async () => {
      this.requireOpen()
      await this.look()
    })
  }

  /** A new generation at the floor, under a fresh incarnation: the handle that is returned. This one is over. */
  reset(request: ResetRequest): Promise<Handle> {
    return this.turn('reset', async () => {
      await this.requireGrant('reset')
      return this.parts.successor.reset(this, this.parts, request)
    })
  }

  /** The same state under a fresh credential and a fresh incarnation: the handle that is returned. This one is over. */
  refresh(request: RefreshRequest): Promise<Handle> {
    return this.turn('refresh', () => this.parts.successor.refresh(this, this.parts, request))
  }

  /** A clean end of the incarnation. Idempotent. */
  close(): Promise<void> {
    return this.turns.run(() => this.end({}))
  }

  /** @throws SessionError unless both what was recorded and what is granted now hold the operation. */
  async requireGrant(operation: Operation): Promise<void> {
    const { rules, granted, currentGrants } = this.parts
    if (rules.isAllowed(operation, { recorded: granted, current: await currentGrants() })) return
    throw refusal('no-grant', `no grant for ${operation}`)
  }

  /** Continuity's own entries. */
  record(action: `continuity/${string}`, detail: JsonObject): Promise<void> {
    return this.turn(action, () => this.write(action, detail))
  }

  /** The end of a handle that another one follows, within a turn of this one. */
  async end(detail: JsonObject): Promise<void> {
    if (this.isEnded) return
    this.isEnded = true
    try {
      await this.parts.incarnation.close(detail)
    } finally {
      this.parts.onEnd(this)
    }
  }

  private requireOpen(): void {
    if (this.isEnded) throw refusal('closed', 'this handle is over; open a new one')
  }

  private turn<T>(operation: string, work: () => Promise<T>): Promise<T> {
    return this.turns.run(async () => {
      this.requireOpen()
      try {
        return await work()
      } catch (error) {
        this.parts.onRefusal(operation, error)
        throw error
      }
    })
  }

  private async raiseAll(label: string): Promise<void> {
    const { own, others, incarnation, rules } = this.parts
    const reached = [own, ...others].map(({ policy, generation }) => ({
      key: policy.key,
      generation,
      sensitivity: label,
    }))
    await incarnation.append('continuity/raise', { label, reached })
    for (const { policy, generation } of [own, ...others]) {
      const { sensitivity } = await policy.commit(
        (facts): Verdict => rules.mergeRaise(facts, { generation, label }),
        incarnation.patch,
      )
      this.lift(sensitivity)
    }
  }

  private async look(): Promise<void> {
    const { own, others, rules } = this.parts
    for (const { policy, generation } of [own, ...others]) {
      const verdict = rules.judgeGeneration(await policy.facts(), { generation })
      if (verdict.kind === 'no') throw refusal(verdict.reason, `this handle is over: ${verdict.reason}`)
      this.lift(verdict.state.sensitivity)
    }
  }

  private lift(label: string): void {
    const before = this.label
    this.label = this.parts.labels.highest(before, label)
    if (this.label !== before) this.parts.onLabel(this)
  }

  private async write(action: string, detail: JsonObject): Promise<void> {
    try {
      await this.parts.incarnation.append(action, detail)
      await this.parts.witness.patch(this.parts.incarnation.patch)
    } catch (error) {
      // What was refused before a byte was written leaves everything as it was.
      if (reasonOf(error) !== 'too-many' && reasonOf(error) !== undefined) await this.fail()
      throw error
    }
  }

  private async fail(): Promise<void> {
    this.isEnded = true
    try {
      await this.parts.incarnation.abandon()
    } finally {
      this.parts.onEnd(this)
    }
  }
}
