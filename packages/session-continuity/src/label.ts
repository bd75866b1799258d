import { assert } from '@tidemark/session-core'
import { refusal } from './refusal.ts'

/** The ordered labels of a deployment, lowest first. */
export class Labels {
  constructor(
    readonly names: readonly string[],
    /** What a new scope, and one after a reset, starts from. */
    readonly floor: string,
  ) {
    assert(names.includes(floor), 'the floor is one of the labels')
  }

  get top(): string {
    return this.names.at(-1) ?? this.floor
  }

  /** @throws SessionError `UNSUPPORTED_FORMAT` (`unknown-label`): it cannot be compared, so nothing goes on. */
  rankOf(label: string): number {
    const rank = this.names.indexOf(label)
    if (rank === -1) throw refusal('unknown-label', 'a sensitivity that the configuration does not name')
    return rank
  }

  has(label: string): boolean {
    return this.names.includes(label)
  }

  isBelow(label: string, other: string): boolean {
    return this.rankOf(label) < this.rankOf(other)
  }

  highest(first: string, ...others: readonly string[]): string {
    return others.reduce((high, label) => (this.isBelow(high, label) ? label : high), first)
  }
}
