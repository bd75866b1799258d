import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  emptyList,
  insertedBefore,
  itemAt,
  itemsOf,
  lengthOf,
  listOf,
  pushed,
  replaced,
  type ChunkedList,
} from '../../packages/session-core/src/list.ts'

const lengths = fc.oneof(fc.nat(200), fc.constantFrom(0, 1, 63, 64, 65, 127, 128, 129))
const numbers = (length: number): number[] => [...Array(length).keys()]

function same(list: ChunkedList<number>, items: readonly number[]): void {
  expect(lengthOf(list)).toBe(items.length)
  expect([...itemsOf(list)]).toEqual(items)
  expect(items.map((_, index) => itemAt(list, index))).toEqual(items)
}

describe('a chunked list', () => {
  it('holds what an array holds, however it was made', () => {
    fc.assert(
      fc.property(lengths, fc.nat(70), (length, more) => {
        const items = numbers(length + more)
        const list = items.slice(length).reduce(pushed, listOf(numbers(length)))
        same(list, items)
        same(items.reduce(pushed, emptyList as ChunkedList<number>), items)
      }),
    )
  })

  it('takes a changed item as an array does, and leaves the old list as it was', () => {
    fc.assert(
      fc.property(lengths, fc.nat(), (length, at) => {
        fc.pre(length > 0)
        const list = listOf(numbers(length))
        same(replaced(list, at % length, -1), numbers(length).with(at % length, -1))
        same(list, numbers(length))
      }),
    )
  })

  it('takes an item before the later ones at its end, and goes on from there', () => {
    fc.assert(
      fc.property(lengths, lengths, (length, at) => {
        const list = listOf(numbers(length))
        const from = Math.min(at, length)
        const inserted = insertedBefore(list, -1, (item) => item >= from)
        const items = [...numbers(from), -1, ...numbers(length).slice(from)]
        same(inserted, items)
        same(pushed(inserted, 7), [...items, 7])
        same(list, numbers(length))
      }),
    )
  })
})
