/** Takes up these seqs, both ends included. */
export interface Spanning {
  readonly first: number
  readonly last: number
}

/** The longest choice of items, in their order, of which each begins after the one before it has ended. */
export function longestRising<T extends Spanning>(items: readonly T[]): readonly T[] {
  /** By length: the choice of that length that ends lowest. */
  const choices: Choice<T>[] = []
  for (const item of items) {
    const length = countBelow(choices, item.first)
    const rival = choices[length]
    if (rival && rival.item.last <= item.last) continue
    const before = choices[length - 1]
    choices[length] = { item, ...(before && { before }) }
  }
  const found: T[] = []
  for (let choice = choices.at(-1); choice; choice = choice.before) found.push(choice.item)
  return found.reverse()
}

/** By its last item. */
interface Choice<T> {
  readonly item: T
  readonly before?: Choice<T>
}

/** How many of them end below a seq: they end the higher the longer they are. */
function countBelow<T extends Spanning>(choices: readonly Choice<T>[], seq: number): number {
  let low = 0
  let high = choices.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((choices[middle]?.item.last ?? Infinity) < seq) low = middle + 1
    else high = middle
  }
  return low
}
