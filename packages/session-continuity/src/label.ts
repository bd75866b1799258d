import { assert } from '@tidemark/session-core'
import { refusal } from './refusal.ts'

/** UTF-16 code units of a label, as far as it is shown. */
const labelLengthMax = 100

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
    if (rank === -1) throw unknownLabel(label, this.names)
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

function unknownLabel(label: string, labels: readonly string[]): Error {
  const shown = label.slice(0, labelLengthMax)
  const message = `${JSON.stringify(shown)} is no label; configured are ${labels.join(', ')}`
  return refusal('unknown-label', message, { label: shown, labels })
}
