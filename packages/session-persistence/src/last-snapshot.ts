import type { SessionSnapshot } from '@tidemark/session-core'

/** What is known of a snapshot once it is written or read. */
export interface LastSnapshot {
  /** -1: there is none. */
  readonly seq: number
  readonly sizeBytes: number
  /** Of the projections in it, by name. */
  readonly versions: ReadonlyMap<string, number>
}

export const noSnapshot: LastSnapshot = { seq: -1, sizeBytes: 0, versions: new Map() }

export function lastSnapshot({ seq, projections }: SessionSnapshot, sizeBytes: number): LastSnapshot {
  return { seq, sizeBytes, versions: new Map([...projections].map(([name, { version }]) => [name, version])) }
}

/** Whether there is a state now that it does not hold, or not in this version. */
export function lacks(
  { versions }: LastSnapshot,
  folded: ReadonlyMap<string, number>,
  unfit: ReadonlySet<string>,
): boolean {
  return [...folded].some(([name, version]) => versions.get(name) !== version && !unfit.has(name))
}
