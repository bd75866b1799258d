import fc from 'fast-check'
import { expect, it } from 'vitest'
import { isPlainHeader } from '../../../packages/session-persistence/src/journal/header-guard.ts'
import { headerSchema } from '../../../packages/session-persistence/src/journal/header.ts'

const digest = 'a'.repeat(64)
const writer = { incarnation: 'i', pid: 7, host: 'h', bootId: null, startedAt: 1.5, enabledBy: 'config' }
const first = {
  format: 1,
  session: { id: 'a', createdAt: 1_000, meta: { title: 'x' } },
  epoch: 1,
  rotation: 0,
  firstSeq: 0,
  salt: 's',
  writer,
}
const predecessor = { segment: '000001-000.jsonl', bytes: 9, seq: -1, digest }
const later = { ...first, epoch: 2, socket: 'x', predecessor, writer: { ...writer, bootId: 'b' } }
const rotated = { ...later, session: { id: 'a', createdAt: 1 }, rotation: 3, firstSeq: 8, firstTo: 9 }
const carried = { ...later, carried: { to: 1, epoch: 1, writer } }
const forked = { ...first, session: { ...first.session, parent: { id: 'p', seq: 3 }, forkedAt: [3] } }

type Path = readonly string[]

function pathsIn(value: unknown): Path[] {
  if (typeof value !== 'object' || value === null) return [[]]
  return [[], ...Object.entries(value).flatMap(([key, each]) => pathsIn(each).map((path) => [key, ...path]))]
}

function replaced(value: unknown, [key, ...rest]: Path, by: unknown): unknown {
  return key === undefined ? by : { ...(value as object), [key]: replaced((value as never)[key], rest, by) }
}

it.each([
  ['of a new session', first],
  ['of a later life', later],
  ['of a rotation', rotated],
])('a header %s is known to fit', (_what, header) => {
  expect([isPlainHeader(header), headerSchema.safeParse(header).success]).toEqual([true, true])
})

it.each([
  ['of a batch written again', carried],
  ['of a fork', forked],
])('a header %s is left to the schema', (_what, header) => {
  expect([isPlainHeader(header), headerSchema.safeParse(header).success]).toEqual([false, true])
})

it('a header with anything in the place of anything is never known to fit where the schema refuses', () => {
  const odd = fc.constantFrom<unknown>(
    ...[undefined, null, true, '', 'x', digest, digest.toUpperCase()],
    ...[-2, -1, 0, 1, 1.5, 2 ** 53, Infinity, NaN, [], ['x'], {}, { id: 'p', seq: 1 }],
  )
  const one = fc
    .constantFrom<object>(first, later, rotated, carried, forked)
    .chain((header) => fc.tuple(fc.constant(header), fc.constantFrom(...pathsIn(header)), odd))
  const met = { known: 0, refused: 0 }
  fc.assert(
    fc.property(one, ([header, path, by]) => {
      const changed = replaced(header, path, by)
      const isKnown = isPlainHeader(changed)
      const fits = headerSchema.safeParse(changed).success
      if (isKnown) met.known += 1
      if (!fits) met.refused += 1
      expect(!isKnown || fits).toBe(true)
    }),
    { numRuns: 4_000 },
  )
  expect([met.known > 100, met.refused > 100]).toEqual([true, true])
})
