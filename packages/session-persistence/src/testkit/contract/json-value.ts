import type { Seeded } from '../seeded.ts'

const keys = ['a', '', '__proto__x', 'toJSON', 'constructor', 'length', 'ü', '\n', '0', '-1'] as const
const texts = [
  '',
  'plain',
  '\u2028\u2029',
  '\ud83c',
  '\u0000',
  '"\\/',
  '{"seq":1}\n',
  '🏴‍☠️',
  '\ufeff',
] as const
const numbers = [0, 1, -1, 0.1, 1e21, 1e-7, 5e-324, 1.7976931348623157e308, 9007199254740993] as const

/** Any JSON at all, so many levels deep at most. */
export function jsonValue(random: Seeded, depth: number): unknown {
  const count = random.below(4)
  switch (random.below(depth > 0 ? 7 : 5)) {
    case 0:
      return null
    case 1:
      return random.isOneIn(2)
    case 2:
      return random.pick(numbers)
    case 3:
      return random.next() / 7 - 100
    case 4:
      return random.pick(texts)
    case 5:
      return Array.from({ length: count }, () => jsonValue(random, depth - 1))
    default:
      return Object.fromEntries(
        Array.from({ length: count }, () => [random.pick(keys), jsonValue(random, depth - 1)]),
      )
  }
}
