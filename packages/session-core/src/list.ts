/**
 * An immutable list as plain data, so that it can stand in a snapshot. Versions share their chunks:
 * a push copies at most one chunk, a set at most one chunk and the list of chunks.
 */
export interface ChunkedList<T> {
  readonly chunks: readonly (readonly T[])[]
  readonly tail: readonly T[]
}

const chunkLength = 64

export const emptyList: ChunkedList<never> = { chunks: [], tail: [] }

export function listOf<T>(items: Iterable<T>): ChunkedList<T> {
  const chunks: T[][] = []
  let tail: T[] = []
  for (const item of items) {
    if (tail.length === chunkLength) {
      chunks.push(tail)
      tail = []
    }
    tail.push(item)
  }
  return { chunks, tail }
}

export function lengthOf(list: ChunkedList<unknown>): number {
  return list.chunks.length * chunkLength + list.tail.length
}

export function itemAt<T>(list: ChunkedList<T>, index: number): T | undefined {
  const chunk = Math.floor(index / chunkLength)
  return chunk < list.chunks.length
    ? list.chunks[chunk]?.[index % chunkLength]
    : list.tail[index % chunkLength]
}

export function pushed<T>(list: ChunkedList<T>, item: T): ChunkedList<T> {
  if (list.tail.length < chunkLength) return { chunks: list.chunks, tail: [...list.tail, item] }
  return { chunks: [...list.chunks, list.tail], tail: [item] }
}

/** The list with the item at an existing index changed. */
export function replaced<T>(list: ChunkedList<T>, index: number, item: T): ChunkedList<T> {
  const chunk = Math.floor(index / chunkLength)
  if (chunk < list.chunks.length) {
    const chunks = list.chunks.with(chunk, (list.chunks[chunk] ?? []).with(index % chunkLength, item))
    return { chunks, tail: list.tail }
  }
  return { chunks: list.chunks, tail: list.tail.with(index % chunkLength, item) }
}

/** The list with the item put before the run of items at its end that are `later`. */
export function insertedBefore<T>(
  list: ChunkedList<T>,
  item: T,
  later: (item: T) => boolean,
): ChunkedList<T> {
  const after: T[] = []
  for (let index = lengthOf(list) - 1; index >= 0; index--) {
    const candidate = itemAt(list, index) as T
    if (!later(candidate)) break
    after.unshift(candidate)
  }
  return [item, ...after].reduce(pushed, shortened(list, lengthOf(list) - after.length))
}

function shortened<T>(list: ChunkedList<T>, length: number): ChunkedList<T> {
  if (length === lengthOf(list)) return list
  const full = Math.floor(length / chunkLength)
  const rest = full < list.chunks.length ? (list.chunks[full] ?? []) : list.tail
  return { chunks: list.chunks.slice(0, full), tail: rest.slice(0, length % chunkLength) }
}

export function* itemsOf<T>(list: ChunkedList<T>): Generator<T> {
  for (const chunk of list.chunks) yield* chunk
  yield* list.tail
}
