import type { FactProblemsFound } from '@tidemark/compaction'
import type { Session } from '@tidemark/session-core'
import { describe, expect, it } from 'vitest'
import { codeOf, load, say, sessionOf } from './host.ts'

function write(session: Session, text: string): number {
  return session.append('user/message', { parts: [{ type: 'text', text, author: 'human' }] }).seq
}

const lines = (count: number): string =>
  Array.from({ length: count }, (_, index) => `FACT: number ${index}`).join('\n')

describe('what is not in force as it was meant', () => {
  it('is counted also where it is not listed', async () => {
    const { ctx } = await load({ factCountMax: 1_000, factsSizeBytesMax: 1_048_576 })
    const session = ctx.sessions.create()
    write(session, lines(1_200))
    expect(ctx.compaction.facts(session).length).toBe(1_000)
    expect(ctx.compaction.problems(session).length).toBe(32)
    expect(ctx.compaction.problemCount(session)).toBe(200)
  })

  it('is told at once where it is beyond the bound of the host, which no compaction passes', async () => {
    const { ctx } = await load()
    const told: FactProblemsFound[] = []
    ctx.on('tidemark/fact-problems', (_session, found) => void told.push(found))
    const session = sessionOf(ctx, 10)
    const seq = write(session, lines(64))
    expect([told, ctx.compaction.problems(session), ctx.compaction.problemCount(session)]).toEqual([
      [],
      [],
      0,
    ])
    const next = write(session, 'FACT: one\nnothing\nFACT: two')
    const problems = [
      { seq: next, line: 'FACT: one', reason: 'over-bound' },
      { seq: next, line: 'FACT: two', reason: 'over-bound' },
    ]
    expect(told).toEqual([{ seq: next, problems, problemCount: 2 }])
    expect(ctx.compaction.problems(session)).toEqual(problems)
    expect(await codeOf(() => ctx.compaction.compact(session))).toBe('PINS_TOO_LARGE')
    const first = ctx.compaction.facts(session).filter((fact) => fact.seq === seq)
    for (const { key } of first.slice(0, 2)) ctx.compaction.unpin(session, key)
    expect([ctx.compaction.problems(session), ctx.compaction.problemCount(session)]).toEqual([[], 0])
    expect(await ctx.compaction.compact(session)).toMatchObject({ outcome: 'applied' })
  })

  it('is told of sizes as well, and of each kind of line, once and to nobody for what is fine', async () => {
    const { ctx } = await load({ factsSizeBytesMax: 200 })
    const told: FactProblemsFound[] = []
    ctx.on('tidemark/fact-problems', (_session, found) => void told.push(found))
    const session = ctx.sessions.create()
    write(session, 'FACT: fine')
    say(session, 'nothing to see')
    const empty = write(session, 'FACT:')
    const large = write(session, `FACT: ${'x'.repeat(200)}`)
    write(session, 'and on')
    expect(
      told.map(({ seq, problemCount, ...rest }) => [seq, problemCount, rest.problems[0]?.reason]),
    ).toEqual([
      [empty, 1, 'empty'],
      [large, 2, 'over-bound'],
    ])
  })

  it('is told by nobody of the sessions of other hosts on the bus', async () => {
    const { ctx } = await load()
    const { ctx: other } = await load()
    const told: unknown[] = []
    ctx.on('tidemark/fact-problems', (_session, found) => void told.push(found))
    const foreign = other.sessions.create()
    write(foreign, 'FACT:')
    ctx.emit('tidemark/event', foreign, foreign.log.last!)
    expect(told).toEqual([])
  })
})
