import { median } from './numbers.mjs'
import { twinFor } from './systems.mjs'

/** What the samples of one run say: medians, and ratios of what was measured in the same round. */
export class Figures {
  constructor(samples) {
    this.samples = samples
    const sizes = samples.filter(({ task }) => task === 'append').map(({ size }) => size)
    this.sizes = [...new Set(sizes)].sort((a, b) => a - b)
  }

  get smallest() {
    return this.sizes[0]
  }

  get largest() {
    return this.sizes.at(-1)
  }

  sizesOf(task) {
    const sizes = this.samples.filter((sample) => sample.task === task).map(({ size }) => size)
    return [...new Set(sizes)].sort((a, b) => a - b)
  }

  /** By round. A place is `{ task, size, figure, system }`. */
  byRound({ task, size, figure, system }) {
    const found = this.samples.filter(
      (sample) => sample.task === task && sample.size === size && sample.system === system,
    )
    const known = found.filter(({ figures }) => figures[figure] !== undefined)
    return new Map(known.map(({ round, figures }) => [round, figures[figure]]))
  }

  value(place) {
    const values = [...this.byRound(place).values()]
    return values.length === 0 ? undefined : median(values)
  }

  /** The median of the rounds' ratios; of the medians where no round has both. */
  ratio(place, base) {
    const bases = this.byRound(base)
    const pairs = [...this.byRound(place)].filter(([round]) => bases.get(round) > 0)
    if (pairs.length > 0) return median(pairs.map(([round, value]) => value / bases.get(round)))
    const [value, of] = [this.value(place), this.value(base)]
    return value === undefined || !of ? undefined : value / of
  }

  /** Against the raw limit on the same Node. */
  againstRaw(place, base = {}) {
    return this.ratio(place, { ...place, ...base, system: twinFor(place.system, 'raw') })
  }

  /** How many processors others used meanwhile. */
  busyElsewhere() {
    const known = this.samples.map((sample) => sample.busyElsewhere).filter((value) => value !== undefined)
    return known.length === 0 ? undefined : median(known)
  }

  get runs() {
    return Math.max(0, ...this.samples.map(({ round }) => round + 1))
  }
}
