import type { Session } from '@tidemark/session-core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { excerptOf } from '../../packages/compaction/src/excerpt.ts'
import { complaints } from '../session-core/pairing.ts'
import { answer, call, codeOf, cold, crash, load, say, seen, startHost, types } from './host.ts'

const big = (what: string): string =>
  `first of ${what}\n${'and so on, é 🎉. '.repeat(2_000)}\nlast of ${what}`

function callsOf(session: Session, count: number): number[] {
  return Array.from({ length: count }, (_, index) => {
    session.append('assistant/message', { parts: [{ type: 'text', text: `step ${index}` }] })
    answer(session, call(session, `c${index}`), big(`${index}`))
    return session.log.length - 1
  })
}

describe('pruning', () => {
  it('cuts large results but for the newest, and says where the original stands', async () => {
    const ctx = await startHost()
    const session = ctx.sessions.create()
    const seqs = callsOf(session, 6)
    const before = session.messages()
    const { length } = session.log
    const result = await ctx.compaction.prune(session, { resultSizeBytesMax: 1_024, keepLast: 2 })
    expect(result.pruned).toEqual(seqs.slice(0, 4))
    expect(types(session, length)).toEqual(Array(4).fill('tool/pruned'))
    expect(seen(session)).toContain('first of 3')
    expect(seen(session)).toContain('last of 3')
    expect(seen(session)).toContain(`the whole result stands at seq ${seqs[3]} of the log`)
    expect(session.messages().map(({ role, seq }) => [role, seq])).toEqual(
      before.map(({ role, seq }) => [role, seq]),
    )
    expect(session.messages().slice(-4)).toEqual(before.slice(-4))
    expect(session.log.at(seqs[3]!)).toMatchObject({ data: { parts: [{ text: big('3') }] } })
    expect(result.sizeBytesFreed).toBeGreaterThan(4 * 30_000)
    expect(complaints(session.messages())).toEqual([])
    expect(seen(session)).toBe(cold(ctx, session))
    expect(seen(crash(ctx, session))).toBe(seen(session))
    expect(seen(ctx.sessions.fork(session))).toBe(seen(session))
  })

  it('again writes nothing; a smaller bound cuts the original anew', async () => {
    const ctx = await startHost()
    const session = ctx.sessions.create()
    const [seq] = callsOf(session, 1)
    await ctx.compaction.prune(session, { resultSizeBytesMax: 2_048, keepLast: 0 })
    const { length } = session.log
    const again = await ctx.compaction.prune(session, { resultSizeBytesMax: 2_048, keepLast: 0 })
    expect(again).toEqual({ pruned: [], sizeBytesFreed: 0 })
    expect(session.log.length).toBe(length)
    const smaller = await ctx.compaction.prune(session, { resultSizeBytesMax: 600, keepLast: 0 })
    expect(smaller.pruned).toEqual([seq])
    expect(seen(session).match(/left out here/g)).toHaveLength(1)
    expect(session.log.last).toMatchObject({
      data: { digest: (session.log.at(length - 1).data as { digest: string }).digest },
    })
  })

  it('twice at once cuts each result once', async () => {
    const ctx = await startHost()
    const session = ctx.sessions.create()
    callsOf(session, 3)
    const options = { resultSizeBytesMax: 512, keepLast: 0 }
    const both = await Promise.all([
      ctx.compaction.prune(session, options),
      ctx.compaction.prune(session, options),
    ])
    expect(both.map(({ pruned }) => pruned.length).sort()).toEqual([0, 3])
    expect(types(session).filter((type) => type === 'tool/pruned').length).toBe(3)
  })

  it('cuts late results, and leaves those that a summary replaced and what has none', async () => {
    const ctx = await startHost()
    const session = ctx.sessions.create()
    for (let turn = 0; turn < 10; turn++) say(session, `request ${turn}`)
    callsOf(session, 1)
    say(session, 'more')
    await ctx.compaction.compact(session, { retainMessages: 2 })
    session.append('turn/start', {})
    const late = call(session, 'late')
    const running = call(session, 'running')
    session.append('turn/end', { reason: 'interrupted' })
    answer(session, late, big('late'))
    const lateSeq = session.log.length - 1
    expect(running.seq).toBeLessThan(lateSeq)
    const { pruned } = await ctx.compaction.prune(session, { resultSizeBytesMax: 512, keepLast: 0 })
    expect(pruned).toEqual([lateSeq])
    expect(seen(session)).toContain(`Late result of tool call call-${late.seq}`)
    expect(seen(session)).toBe(cold(ctx, session))
  })

  it('refuses bounds that are none', async () => {
    const ctx = await startHost()
    const session = ctx.sessions.create()
    for (const options of [
      { resultSizeBytesMax: 511 },
      { resultSizeBytesMax: NaN },
      { keepLast: -1 },
      { keepLast: 0.5 },
    ])
      expect(await codeOf(() => ctx.compaction.prune(session, options))).toBe('INVALID_EVENT')
  })

  it.each([
    [4.5, []],
    [2, ['compact/start', 'compact/summary', 'compact/end']],
  ])('comes first in automatic mode, and is enough or not (%d results fit)', async (fitting, then) => {
    const one = await load()
    const alone = one.ctx.sessions.create()
    callsOf(alone, 1)
    const { tokens } = one.ctx.compaction.status(alone)
    const contextTokensMax = Math.round((tokens * fitting) / 0.8)
    const { ctx } = await load({ contextTokensMax, automatic: true, pruneResultsSizeBytes: 1_024 })
    const session = ctx.sessions.create()
    callsOf(session, 5)
    const { length } = session.log
    session.append('step/start', {})
    session.append('step/end', {})
    const expected = ['step/start', 'step/end', 'tool/pruned', ...then]
    await expect.poll(() => types(session, length)).toEqual(expected)
    await new Promise(setImmediate)
    await ctx.compaction.idle(session)
    expect(types(session, length)).toEqual(expected)
  })
})

describe('an excerpt', () => {
  it('is never longer than its bound, is well-formed, and holds both ends', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'é', '漢', '🎉', '\n'), maxLength: 3_000 })
    fc.assert(
      fc.property(text, fc.integer({ min: 512, max: 2_000 }), (said, sizeBytesMax) => {
        const [part] = excerptOf([{ type: 'text', text: said }], 12_345, sizeBytesMax)
        const shown = part?.type === 'text' ? part.text : ''
        expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(sizeBytesMax)
        expect(shown.isWellFormed()).toBe(true)
        const [head = ''] = shown.split('[')
        expect(said.startsWith(head.replace(/\n$/, ''))).toBe(true)
      }),
    )
  })

  it('counts what was left out, files with it', () => {
    const file = { type: 'file', mediaType: 'image/png', data: 'A'.repeat(4_000) } as const
    const [part] = excerptOf([{ type: 'text', text: 'x'.repeat(1_000) }, file], 7, 512)
    const head = Math.ceil((512 - 160) / 2)
    const tail = Math.floor((512 - 160) / 2)
    const leftOut = 1_000 - head - tail + 4_000 + 'image/png'.length
    expect(part).toEqual({
      type: 'text',
      text: [
        'x'.repeat(head),
        `[${leftOut} bytes left out here, 1 files with them: the whole result stands at seq 7 of the log]`,
        'x'.repeat(tail),
      ].join('\n'),
    })
  })
})
