import { join } from 'node:path'
import { startJournal } from '../host.ts'
import { scratch } from '../scratch.ts'
import { Child, type ChildOptions } from './child.ts'
import { told, type Line } from './line.ts'
import type { WriterTerms } from './writer.ts'

/** For a test with children: on a machine that is busy each of them takes seconds to start. */
export const childTestMs = 300_000

/** A root with one session, `a`, that nobody holds, and the writers of it. */
export class Nursery {
  readonly root = join(scratch(), 'root')
  readonly children: Child[] = []

  async prepare(): Promise<void> {
    const ctx = await startJournal(this.root)
    await ctx.sessions.dispose(await ctx.sessionPersistence.create({ id: 'a' }))
  }

  /** A writer that has loaded everything, and waits to be let go. */
  async spawn(who: string, more: Partial<WriterTerms> = {}, options: ChildOptions = {}): Promise<Child> {
    const child = new Child('writer', { root: this.root, id: 'a', who, ...more }, options)
    this.children.push(child)
    await child.ready()
    return child
  }

  /** Everything that any of them ever said, of the session itself first. */
  get lines(): Line[] {
    return [{ told: 'begun', id: 'a' }, ...this.children.flatMap(({ lines }) => lines)]
  }

  async killAll(): Promise<void> {
    await Promise.all(this.children.map((child) => child.kill()))
  }
}

export const hasAcknowledged = (count: number) => (lines: readonly Line[]) =>
  told(lines, 'acknowledged').length >= count

/** Whether it got the session, or was told why not. */
export const isAnswered = (lines: readonly Line[]): boolean =>
  told(lines, 'resumed').length + told(lines, 'refused').length > 0
