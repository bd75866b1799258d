import type { JsonObject } from '@tidemark/session-core'
import { boundFacts, generationIn, isBefore, type Binding } from './binding.ts'
import type { Operation } from './grants.ts'
import type { AuditInput, HandleParts, RefreshRequest, ResetRequest } from './handle-parts.ts'
import { HandleLife } from './handle-life.ts'
import type { Principal } from './principal.ts'
import { raiseStates } from './raise.ts'
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
 * 4. The sessions that were opened as it end before it does, written (`HandleLife`).
 */
export class Handle {
  private readonly turns = new TurnQueue(waitingMax)
  private label: string
  private readonly life: HandleLife

  constructor(private readonly parts: HandleParts) {
    this.label = parts.state.sensitivity
    this.life = new HandleLife(this, parts)
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
    return this.life.isOpen
  }

  /** What a session's metadata must hold for this handle to be let at it. */
  get sessionMeta(): JsonObject {
    return boundMeta(this.parts.principal, this.parts.scope)
  }

  /**
   * Raises the sensitivity, and that of those whom the principal acts for. Never lowers. Resolves when the state, the
   * witness and the label in the log of each living session are durable. A label that is not configured ends the
   * handle at the highest one, since nobody can compare it.
   * @throws SessionError, with a reason unless a session could not be written; then the label holds in memory, and the
   * handle is over. One that was over before passes it on to nobody.
   */
  async raise(label: string): Promise<void> {
    const { labels } = this.parts
    let hasBegun = false
    try {
      await this.turn('raise', async () => {
        hasBegun = true
        labels.rankOf(label)
        await this.requireGrant('raise')
        await raiseStates(this.bindings, { ...this.parts, label, onReached: (reached) => this.lift(reached) })
        await this.parts.sessions.keepLabel(this)
      })
    } catch (error) {
      // A label that nobody can compare might be above all others.
      const worst = labels.has(label) ? label : labels.top
      if (!hasBegun && !this.isOpen) {
        this.label = labels.highest(this.label, worst)
        throw error
      }
      this.lift(worst)
      await this.life.fail(error)
      throw error
    }
  }

  /** Resolves when the entry is durable: what it tells of may happen then, and not before. */
  audit({ action, detail = {} }: AuditInput): Promise<void> {
    return this.turn('audit', async () => {
      if (String(action).startsWith('continuity/'))
        throw refusal('no-grant', 'actions that begin with "continuity/" are written by continuity itself')
      await this.look()
      await this.write(action, detail)
    })
  }

  /** Asks the store: another instance may have raised the label, or reset the scope. */
  update(): Promise<void> {
    return this.turns.run(async () => {
      this.life.requireOpen()
      await this.look()
    })
  }

  /** As `update`, without waiting for a turn: a write is asked about while a turn waits for it. */
  async look(): Promise<void> {
    const { rules } = this.parts
    this.life.requireLiving()
    for (const binding of this.bindings) {
      const facts = await boundFacts(binding)
      if (!facts) continue
      const verdict = rules.judgeGeneration(facts, { generation: binding.generation })
      if (verdict.kind === 'yes') {
        this.lift(verdict.state.sensitivity)
        continue
      }
      if (verdict.reason === 'stale-generation') void this.fence()
      throw refusal(verdict.reason, `this handle is over: ${verdict.reason}`)
    }
  }

  /**
   * A new generation at the floor, under a fresh incarnation: the handle that is returned. This one is over. The
   * sessions of the older generation end first, written; one that cannot be written is reported, and holds up nothing.
   */
  reset(request: ResetRequest): Promise<Handle> {
    return this.turn('reset', async () => {
      await this.requireGrant('reset')
      return this.parts.successor.reset(this, this.parts, request)
    })
  }

  /**
   * The same state under a fresh credential and a fresh incarnation: the handle that is returned. This one is over, and
   * so are its sessions, written.
   */
  refresh(request: RefreshRequest): Promise<Handle> {
    return this.turn('refresh', () => this.parts.successor.refresh(this, this.parts, request))
  }

  /**
   * A clean end of the incarnation, after that of the sessions that were opened as this handle. Idempotent.
   * @throws SessionError what a session could not be written for; the handle is over all the same, as an orphan.
   */
  close(): Promise<void> {
    return this.turns.run(async () => {
      const lost = await this.end({})
      if (lost !== undefined) throw lost
    })
  }

  /** The generation that it was opened in of a policy state; `undefined` where it goes by none of it yet. */
  generationOf(key: string): number | undefined {
    return generationIn(this.bindings, key)
  }

  /** Whether another one is of a later generation of a policy state that this one goes by. */
  isBefore(other: Handle): boolean {
    return isBefore(this.bindings, other.bindings)
  }

  /** Ends the sessions that were opened as this handle: written, as far as they can be, and released. */
  settle(): Promise<void> {
    return this.life.settle()
  }

  /** There is a newer generation: from now on this one is told so. Resolves when its sessions are over. */
  async fence(): Promise<void> {
    if (!this.isOpen) return
    this.life.beginEnd('stale-generation')
    // After the turn that may have found it out.
    void this.turns.run(() => this.endFenced()).catch(this.parts.report)
    await this.settle()
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

  /** The end, within a turn of this handle. What a session failed with that could not be written before it. */
  end(detail: JsonObject): Promise<Error | undefined> {
    return this.life.end(detail)
  }

  private get bindings(): readonly Binding[] {
    return [this.parts.own, ...this.parts.others]
  }

  private turn<T>(operation: string, work: () => Promise<T>): Promise<T> {
    return this.turns.run(async () => {
      try {
        this.life.requireOpen()
        return await work()
      } catch (error) {
        this.parts.onRefusal(operation, error)
        if (reasonOf(error) === 'stale-generation') void this.fence()
        throw error
      }
    })
  }

  private async endFenced(): Promise<void> {
    const lost = await this.end({ fenced: true })
    if (lost !== undefined) this.parts.report(lost)
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
      if (reasonOf(error) !== 'too-many' && reasonOf(error) !== undefined) await this.life.fail(error)
      throw error
    }
  }
}
