import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { marks as markRules } from './source.ts'
import { Labels, judgeRecover, policy, witnesses } from './source.ts'

const names = ['public', 'internal', 'confidential', 'secret']
const labels = new Labels(names, 'public')
const label = fc.constantFrom(...names)

const state: policy.PolicyState = {
  generation: 1,
  sensitivity: 'public',
  assurance: 4,
  newestAuthenticatedAt: 4,
  credentialsAfter: 4,
  operations: [],
}

function factsOf(
  found: policy.PolicyState,
  revision = 1,
  mark: markRules.Mark | undefined = undefined,
): policy.Facts {
  const { generation, sensitivity } = found
  return {
    found: { kind: 'found', revision, state: found },
    mark: mark ?? { revision, generation, sensitivity },
    labels,
  }
}

const rank = (each: { generation: number; sensitivity: string }): number =>
  each.generation * 10 + names.indexOf(each.sensitivity)

describe('the rules', () => {
  it('raises in any order end at the same maximum, and none lowers', () => {
    fc.assert(
      fc.property(fc.array(label, { maxLength: 12 }), fc.infiniteStream(fc.nat()), (raises, order) => {
        const after = (sequence: readonly string[]): policy.PolicyState =>
          sequence.reduce((current, next) => {
            const verdict = policy.mergeRaise(factsOf(current), { generation: 1, label: next })
            if (verdict.kind === 'no') throw new TypeError(verdict.reason)
            expect(names.indexOf(verdict.state.sensitivity)).toBeGreaterThanOrEqual(
              names.indexOf(current.sensitivity),
            )
            return verdict.state
          }, state)
        const shuffled = raises
          .map((each) => ({ each, at: order.next().value ?? 0 }))
          .sort((a, b) => a.at - b.at)
          .map(({ each }) => each)
        const highest = raises.reduce(
          (high, each) => (names.indexOf(each) > names.indexOf(high) ? each : high),
          'public',
        )
        expect(after(raises).sensitivity).toBe(highest)
        expect(after(shuffled).sensitivity).toBe(highest)
      }),
    )
  })

  const mark = fc.record({
    revision: fc.integer({ min: 1, max: 4 }),
    generation: fc.integer({ min: 1, max: 3 }),
    sensitivity: label,
    credentials: fc.record({
      assurance: fc.nat(3),
      newestAuthenticatedAt: fc.nat(3),
      credentialsAfter: fc.nat(3),
    }),
  })

  it('a state is refused exactly when it is behind the witness in anything, or of a generation that is not coming', () => {
    const coming = fc.option(fc.record({ generation: fc.integer({ min: 1, max: 4 }), sensitivity: label }))
    fc.assert(
      fc.property(mark, mark, coming, (stored, witnessed, next) => {
        const found = { ...state, generation: stored.generation, sensitivity: stored.sensitivity }
        const known = { ...witnessed, ...(next && { coming: [next] }) }
        const verdict = policy.judgeStanding(factsOf(found, stored.revision, known))
        const isBehind =
          stored.revision < witnessed.revision ||
          stored.generation < witnessed.generation ||
          (stored.generation === witnessed.generation && rank(stored) < rank(witnessed))
        const isExpected = next?.generation === stored.generation && rank(stored) >= rank(next)
        const isAhead = stored.generation > witnessed.generation && !isExpected
        const reason = isBehind ? 'behind-witness' : 'ahead-of-witness'
        expect(verdict).toMatchObject(isBehind || isAhead ? { kind: 'no', reason } : { kind: 'yes' })
      }),
    )
  })

  it('a witness only rises, and it does not matter who tells it first', () => {
    const key = 'a'.repeat(64)
    fc.assert(
      fc.property(fc.array(mark, { minLength: 1, maxLength: 8 }), (marks) => {
        const merged = (all: readonly markRules.Mark[]): markRules.Mark =>
          all.reduce(
            (witness, value) => witnesses.mergeWitness(witness, { mark: { key, value } }, labels),
            witnesses.noWitness,
          ).marks[key]!
        const one = merged(marks)
        expect(merged(marks.toReversed())).toEqual(one)
        for (const each of marks) {
          expect(rank(one)).toBeGreaterThanOrEqual(rank(each))
          expect(one.revision).toBeGreaterThanOrEqual(each.revision)
        }
      }),
    )
  })

  it('a recover is never below anything that is proven, and always of a new generation', () => {
    const principal = { id: 'a', kind: 'human', assurance: 9, authenticatedAt: 9 } as const
    const proof = fc.record({ generation: fc.integer({ min: 1, max: 5 }), sensitivity: label })
    fc.assert(
      fc.property(
        fc.array(proof),
        fc.array(proof),
        fc.option(mark, { nil: undefined }),
        (states, reached, witnessed) => {
          const evidence = {
            states: states.map((each) => ({ ...state, ...each })),
            mark: witnessed,
            reached,
            labels,
          }
          const verdict = judgeRecover(evidence, { principal, operations: [] })
          const all = [...states, ...reached, ...(witnessed ? [witnessed] : [])]
          if (verdict.kind === 'no') {
            expect([all.length, verdict.reason]).toEqual([0, 'unknown-scope'])
            return
          }
          for (const each of all) {
            expect(verdict.state.generation).toBeGreaterThan(each.generation)
            expect(names.indexOf(verdict.state.sensitivity)).toBeGreaterThanOrEqual(
              names.indexOf(each.sensitivity),
            )
          }
        },
      ),
    )
  })

  it('a scope’s witness has room for 1,024 principals and 256 living incarnations, and says when it is full', () => {
    const value = { revision: 1, generation: 1, sensitivity: 'public' }
    const keyOf = (index: number): string => index.toString(16).padStart(64, '0')
    const marks = Object.fromEntries(Array.from({ length: 1_024 }, (_, index) => [keyOf(index), value]))
    const full = { ...witnesses.noWitness, marks }
    expect(
      witnesses.mergeWitness(full, { mark: { key: keyOf(0), value: { ...value, revision: 2 } } }, labels),
    ).toBeDefined()
    const more = () => witnesses.mergeWitness(full, { mark: { key: keyOf(1_024), value } }, labels)
    expect(more).toThrow(expect.objectContaining({ code: 'BACK_PRESSURE' }))
    const head = { index: 0, digest: '0'.repeat(64), incarnation: 'x' }
    const heads = Object.fromEntries(Array.from({ length: 256 }, (_, index) => [index + 1, head]))
    const crowded = { ...witnesses.noWitness, heads }
    const next = { head: { number: 257, value: head } }
    expect(() => witnesses.mergeWitness(crowded, next, labels)).toThrow(
      expect.objectContaining({ code: 'BACK_PRESSURE' }),
    )
    const settled = witnesses.mergeWitness(crowded, { ...next, settled: [1] }, labels)
    expect(Object.keys(settled.heads)).toHaveLength(256)
  })
})
