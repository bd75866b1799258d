/** More than any mark of what was left out takes. */
const markSizeBytes = 48

interface EndsOptions {
  readonly sizeBytesMax: number
  /** Stands in the place of so many items. */
  readonly mark: (leftOut: number) => string
}

/**
 * The items of a list, each rendered, with a mark in the place of those in the middle that do not fit. Renders what
 * it keeps, and two more at most.
 */
export function ends<T>(
  list: readonly T[],
  { sizeBytesMax, mark }: EndsOptions,
  render: (item: T, index: number) => string,
): { readonly items: readonly string[]; readonly leftOut: number } {
  const room = sizeBytesMax - markSizeBytes
  const rendered = (index: number) => render(list[index] as T, index)
  const head = fill(Math.floor(room / 2), list.length, rendered)
  const rest = list.length - head.items.length
  const tail = fill(room - head.sizeBytes, rest, (back) => rendered(list.length - 1 - back))
  const leftOut = rest - tail.items.length
  return { items: [...head.items, ...(leftOut > 0 ? [mark(leftOut)] : []), ...tail.items.reverse()], leftOut }
}

/** The first items that fit, each with the one byte that parts it from the next. */
function fill(sizeBytesMax: number, count: number, render: (index: number) => string) {
  const items: string[] = []
  let sizeBytes = 0
  while (items.length < count) {
    const item = render(items.length)
    const itemSizeBytes = Buffer.byteLength(item) + 1
    if (sizeBytes + itemSizeBytes > sizeBytesMax) break
    items.push(item)
    sizeBytes += itemSizeBytes
  }
  return { items, sizeBytes }
}
