import { isSessionError, type SessionError } from '@tidemark/session-core'
import type { SimulatedDisk } from '../disk/simulated-disk.ts'
import type { Problem } from '../finding.ts'
import { problem } from './found-log.ts'

/** Calls a storage, and notes what it refuses and what is wrong. */
export class Caller {
  readonly problems: Problem[] = []
  /** What was refused, in order. */
  readonly refusals: SessionError[] = []
  /** While it is set, a refusal is no problem. */
  isTroubled = false

  constructor(readonly disk: SimulatedDisk) {}

  report(kind: Problem['kind'], detail: string): void {
    this.problems.push(problem(kind, detail))
  }

  protected async attempt<T>(call: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      this.refuse(call, error)
      return undefined
    }
  }

  /** What a writer does in the background is over before, so that every change is the call's own. */
  protected async changingNothing<T>(call: string, work: () => Promise<T>): Promise<T | undefined> {
    await this.disk.idle()
    const { changes } = this.disk
    const done = await this.attempt(call, work)
    if (this.disk.changes !== changes) this.report('changed', `a ${call} changed the disk`)
    return done
  }

  /** A call that is refused, since whoever makes it is a writer no more. */
  protected async fenced(call: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
      this.report('unfenced', `a writer that was over was acknowledged: ${call}`)
    } catch (error) {
      this.refuse(call, error, 'FENCED')
    }
  }

  private refuse(call: string, error: unknown, expected?: string): void {
    if (!isSessionError(error)) {
      this.report('untyped', `${call} threw ${String(error)}`)
      return
    }
    this.refusals.push(error)
    if (error.code === expected || this.isTroubled) return
    this.report('refused', `${call}: ${error.code}: ${error.message}`)
  }
}
