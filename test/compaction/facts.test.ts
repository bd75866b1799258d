import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { codeOf, cold, crash, load, say, seen, sessionOf, startHost, statuses, systemTexts } from './host.ts'
import { held, saying } from './summarizers.ts'

const rule = 'CRITICAL: never add a trailer to commits\n  - not even "Signed-off-by"\n\t(é, 日本, 🌊)'
const isHeading = (text: string): boolean => text.startsWith('Pinned fact')
const factsSeen = (session: Parameters<typeof systemTexts>[0]): string[] =>
  systemTexts(session).filter((text) => !isHeading(text) && !text.startsWith('No longer'))

describe('pinned facts', () => {
  it('are seen by the model from the pin on, and say who pinned them and what they are', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 1)
    const fact = ctx.compaction.pin(session, { key: 'rule', text: rule, sourceSeq: 1, by: 'the operator' })
    const digest = createHash('sha256').update(rule).digest('hex')
    const by = 'the operator'
    expect(fact).toEqual({ key: 'rule', text: rule, digest, sourceSeq: 1, by, seq: 4, from: 'pin' })
    expect(ctx.compaction.facts(session)).toEqual([fact])
    expect(factsSeen(session)).toEqual([rule])
    expect(session.messages().at(-1)).toMatchObject({ role: 'user', seq: 4 })
  })

  it('E01: stand verbatim in a block of their own after a compaction of 200 turns', async () => {
    const ctx = await startHost()
    const session = ctx.sessions.create()
    ctx.compaction.pin(session, { key: 'rule', text: rule })
    ctx.compaction.pin(session, { key: 'second', text: 'answer in French' })
    for (let turn = 0; turn < 200; turn++) say(session, `filler ${turn}`)
    await ctx.compaction.compact(session, { summarizer: saying('progress was made') })
    expect(session.messages()[0]).toMatchObject({
      role: 'user',
      parts: [
        { author: 'system' },
        { text: rule, author: 'system' },
        { text: 'answer in French', author: 'system' },
      ],
    })
    expect(session.messages().length).toBe(2 + 8)
    expect(seen(session)).toBe(cold(ctx, session))
  })

  it('E04, G35: are equal byte for byte after each of 11 compactions and as many restarts', async () => {
    const ctx = await startHost()
    let session = ctx.sessions.create()
    ctx.compaction.pin(session, { key: 'rule', text: rule })
    for (let round = 0; round < 11; round++) {
      for (let turn = 0; turn < 6; turn++) say(session, `round ${round}, turn ${turn}`)
      expect(await ctx.compaction.compact(session)).toMatchObject({ outcome: 'applied' })
      expect(factsSeen(session)).toEqual([rule])
      expect(seen(session)).toBe(cold(ctx, session))
      session = crash(ctx, session)
    }
    expect(ctx.compaction.facts(session)).toMatchObject([{ text: rule, seq: 0 }])
    expect(seen(session)).toContain('round 0, turn 0')
  })

  it('a later pin of a key takes the place of the earlier, and a fact that was unpinned is in no later block', async () => {
    const ctx = await startHost({ retainMessages: 0 })
    const session = sessionOf(ctx, 6)
    ctx.compaction.pin(session, { key: 'a', text: 'first a' })
    ctx.compaction.pin(session, { key: 'b', text: 'only b' })
    ctx.compaction.pin(session, { key: 'a', text: 'second a' })
    await ctx.compaction.compact(session)
    expect(factsSeen(session)).toEqual(['only b', 'second a'])
    expect(ctx.compaction.unpin(session, 'b')).toBe(true)
    expect(ctx.compaction.unpin(session, 'b')).toBe(false)
    expect(systemTexts(session).at(-1)).toMatch(/^No longer pinned.*: b$/)
    for (let turn = 0; turn < 6; turn++) say(session, `filler ${turn}`)
    await ctx.compaction.compact(session)
    expect(factsSeen(session)).toEqual(['second a'])
    ctx.compaction.unpin(session, 'a')
    for (let turn = 0; turn < 6; turn++) say(session, `filler ${turn}`)
    await ctx.compaction.compact(session)
    expect(session.messages().length).toBe(1)
    expect(systemTexts(session)).toEqual([])
  })

  it('that were unpinned in a range that begins after their pin are said to be in force no more', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 1)
    const { seq } = ctx.compaction.pin(session, { key: 'rule', text: rule })
    for (let turn = 0; turn < 10; turn++) say(session, `filler ${turn}`)
    ctx.compaction.unpin(session, 'rule')
    const range = { from: seq + 1, through: session.log.length - 1 }
    await ctx.compaction.compact(session, { range, summarizer: saying('progress') })
    expect(ctx.compaction.facts(session)).toEqual([])
    expect(systemTexts(session).at(-1)).toMatch(/no earlier pin or list is in force/)
    expect(seen(session)).toBe(cold(ctx, session))
  })

  it('that change while a summary is made are carried as they are at its end', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    ctx.compaction.pin(session, { key: 'old', text: 'to be ended' })
    for (let turn = 0; turn < 6; turn++) say(session, `filler ${turn}`)
    const { summarizer, answer } = held()
    const running = ctx.compaction.compact(session, { summarizer })
    ctx.compaction.unpin(session, 'old')
    ctx.compaction.pin(session, { key: 'new', text: 'pinned meanwhile' })
    answer('short')
    await running
    const block = session.messages()[0]!
    expect(block.parts.slice(1)).toMatchObject([{ text: 'pinned meanwhile' }])
  })

  it('may be pinned again at each start without growing the log', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 1)
    const fact = ctx.compaction.pin(session, { text: rule })
    const length = session.log.length
    expect(ctx.compaction.pin(session, { text: rule })).toEqual(fact)
    expect(session.log.length).toBe(length)
  })

  it('are refused, and nothing is recorded, at one more than the bounds', async () => {
    const ctx = await startHost({ factCountMax: 3, factsSizeBytesMax: 100 })
    const session = sessionOf(ctx, 1)
    for (const key of ['a', 'b', 'c']) ctx.compaction.pin(session, { key, text: 'x' })
    const length = session.log.length
    expect(await codeOf(() => ctx.compaction.pin(session, { key: 'd', text: 'x' }))).toBe('PINS_TOO_LARGE')
    ctx.compaction.pin(session, { key: 'c', text: 'y'.repeat(100 - 4 - 1) })
    expect(await codeOf(() => ctx.compaction.pin(session, { key: 'c', text: 'y'.repeat(96) }))).toBe(
      'PINS_TOO_LARGE',
    )
    expect(session.log.length).toBe(length + 1)
    expect(ctx.compaction.facts(session).map(({ key }) => key)).toEqual(['a', 'b', 'c'])
  })

  it('are refused when they could not be rendered as they are', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 1)
    const length = session.log.length
    const bad = [
      { text: '' },
      { text: ' \n\t' },
      { text: 'half \ud83c' },
      { text: 7 as unknown as string },
      { text: 'x', key: '' },
      { text: 'x', key: 'two\nlines' },
      { text: 'x', key: 'k'.repeat(129) },
      { text: 'x', by: '' },
      { text: 'x', sourceSeq: -1 },
      { text: 'x', sourceSeq: 1.5 },
    ]
    for (const input of bad)
      expect(await codeOf(() => ctx.compaction.pin(session, input))).toBe('INVALID_EVENT')
    expect(await codeOf(() => ctx.compaction.pin(session, { text: 'x', sourceSeq: length }))).toBe(
      'INVALID_SEQ',
    )
    expect(session.log.length).toBe(length)
    const key = '__proto__'
    expect(ctx.compaction.pin(session, { key, text: 'x' }).key).toBe(key)
    expect(
      await codeOf(() => session.append('fact/pinned', { key: 'k', text: 'x', digest: 'wrong', by: 'me' })),
    ).toBe('INVALID_EVENT')
  })

  it('that alone do not fit refuse a compaction by name, and nothing is recorded', async () => {
    const roomy = await startHost()
    const session = sessionOf(roomy, 10)
    for (const key of ['a', 'b', 'c']) roomy.compaction.pin(session, { key, text: key.repeat(100) })
    const ctx = await startHost({ factsSizeBytesMax: 250 })
    const tight = ctx.sessions.create({ seed: session.log })
    const length = tight.log.length
    await expect(ctx.compaction.compact(tight)).rejects.toMatchObject({
      code: 'PINS_TOO_LARGE',
      details: { keys: ['a', 'b', 'c'] },
    })
    expect(tight.log.length).toBe(length)
    expect(statuses(tight)).toEqual([])
  })

  it('that outgrow the bounds while a summary is made end it as failed', async () => {
    const ctx = await startHost({ factCountMax: 1 })
    const session = sessionOf(ctx, 10)
    const { summarizer, answer } = held()
    const running = ctx.compaction.compact(session, { summarizer })
    for (const { text, digest } of [{ text: 'x', digest: digestOf('x') }]) {
      session.append('fact/pinned', { key: 'a', text, digest, by: 'somebody' })
      session.append('fact/pinned', { key: 'b', text, digest, by: 'somebody' })
    }
    answer('short')
    expect(await running).toMatchObject({ outcome: 'failed', error: { code: 'PINS_TOO_LARGE' } })
    expect(statuses(session)).toEqual([])
  })

  it('that a redaction would change are refused; what was pinned stays exact when a stricter one is loaded', async () => {
    const hide = (payload: unknown): never =>
      JSON.parse(JSON.stringify(payload).replaceAll('secret', 'hidden')) as never
    const { ctx } = await load({}, { redact: hide })
    const session = sessionOf(ctx, 10)
    expect(await codeOf(() => ctx.compaction.pin(session, { text: 'the secret' }))).toBe('INVALID_EVENT')
    const earlier = await startHost()
    const pinned = sessionOf(earlier, 10)
    earlier.compaction.pin(pinned, { key: 'k', text: 'the secret' })
    const now = ctx.sessions.create({ seed: pinned.log })
    expect(await ctx.compaction.compact(now, { summarizer: saying('a secret was told') })).toMatchObject({
      outcome: 'applied',
    })
    expect(new Set(factsSeen(now))).toEqual(new Set(['the secret']))
    expect(seen(now)).toContain('a hidden was told')
  })
})

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
