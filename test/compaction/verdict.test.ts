import { factsDigestOf, type PinnedFact } from '@tidemark/compaction'
import { describe, expect, it } from 'vitest'
import { verdictOf } from '../../packages/compaction/src/verdict.ts'
import { flood, load, say, sessionOf, startHost } from './host.ts'
import { doing, held, saying } from './summarizers.ts'

describe('what an applied compaction says of the facts', () => {
  it('is told in its result and in its end, as the transcript shows them', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    ctx.compaction.pin(session, { key: 'rule', text: 'never do X' })
    say(session, 'FACT[place]: here')
    const { summarizer, answer } = held()
    const running = ctx.compaction.compact(session, { summarizer })
    ctx.compaction.pin(session, { key: 'late', text: 'pinned meanwhile' })
    answer('short')
    expect(await running).toMatchObject({ facts: { present: ['rule', 'place', 'late'], missing: [] } })
    expect(session.log.last?.data).toMatchObject({
      facts: {
        presentCount: 3,
        missingCount: 0,
        missingKeys: [],
        presentDigest: factsDigestOf([
          { key: 'rule', text: 'never do X' },
          { key: 'place', text: 'FACT[place]: here' },
          { key: 'late', text: 'pinned meanwhile' },
        ]),
      },
    })
    say(session, 'more')
    const failed = await ctx.compaction.compact(session, { retainMessages: 1, summarizer: saying('') })
    expect(failed).not.toHaveProperty('facts')
    expect(session.log.last?.data).not.toHaveProperty('facts')
  })

  it('is a scream where one is missing, on the bus, in the result and in the log', async () => {
    const { ctx } = await load({ factCountMax: 100, factsSizeBytesMax: 100_000 })
    const { schema } = ctx.sessions.vocabulary.event('compact/end')!
    // A rendering that loses what it is to carry.
    const replaces = (open: { data: unknown }): { from: number; through: number; messages: [] } => ({
      ...(open.data as { range: { from: number; through: number } }).range,
      messages: [],
    })
    const undo = ctx.sessions.define({
      owner: '@tidemark/compaction',
      events: { 'compact/end': { schema, replaces } },
    })
    const told: unknown[] = []
    ctx.on('tidemark/facts-missing', (_session, missing) => void told.push(missing))
    const session = sessionOf(ctx, 10)
    const keys = Array.from({ length: 40 }, (_, index) => `key ${index}`)
    for (const key of keys) ctx.compaction.pin(session, { key, text: `never do ${key}` })
    say(session, 'more')
    const result = await ctx.compaction.compact(session, { retainMessages: 1 })
    expect(result).toMatchObject({ outcome: 'applied', facts: { present: [], missing: keys } })
    expect(session.log.last?.data).toMatchObject({
      facts: {
        presentCount: 0,
        missingCount: 40,
        missingKeys: keys.slice(0, 32),
        presentDigest: factsDigestOf([]),
      },
    })
    await new Promise(setImmediate)
    expect(told).toMatchObject([{ id: result.outcome === 'applied' && result.id, keys }])
    undo()
  })

  it('rests on what stands there byte for byte, and on nothing that others wrote', () => {
    const fact = (key: string, text: string): PinnedFact =>
      ({ key, text, digest: '', by: 'a', seq: 0, from: 'pin' }) as const
    const facts = [fact('a', 'never'), fact('b', 'never '), fact('c', 'Never'), fact('d', 'stray')]
    const part = (author: 'system' | 'agent', text: string) => ({ type: 'text', author, text }) as const
    const pinned = part('system', 'Pinned fact, in force and verbatim: a')
    const verdict = verdictOf(facts, [
      { role: 'user', seq: 0, parts: [pinned, part('system', 'never')] },
      { role: 'user', seq: 1, parts: [pinned, part('agent', 'never ')] },
      { role: 'assistant', seq: 2, parts: [{ type: 'text', text: 'Never' }] },
      { role: 'user', seq: 3, parts: [part('system', 'stray'), part('system', 'stray')] },
    ])
    expect(verdict).toEqual({ present: ['a'], missing: ['b', 'c', 'd'] })
  })

  it('a line that is no longer pinned is not shown as one in force by saying so', () => {
    const text = 'CRITICAL: never'
    const fact = { key: 'a', text, digest: '', by: 'human', seq: 5, from: 'label' } as const
    const part = (author: 'system' | 'human', said: string) => ({ type: 'text', author, text: said }) as const
    const unpinned = part('system', 'No longer pinned, and not in force: a')
    const over = { role: 'user', seq: 3, parts: [unpinned, part('system', text)] } as const
    const other = { role: 'user', seq: 5, parts: [part('human', 'something else')] } as const
    const own = { role: 'user', seq: 5, parts: [part('human', `And:\n${text}`)] } as const
    expect(verdictOf([fact], [over]).missing).toEqual(['a'])
    expect(verdictOf([fact], [over, other], 4).missing).toEqual(['a'])
    expect(verdictOf([fact], [over, own], 4).present).toEqual(['a'])
    expect(verdictOf([fact], [over, own], 6).missing).toEqual(['a'])
  })
})

describe('an end that the session does not take', () => {
  const refusing = { refuses: false }
  const redact = (payload: unknown): never => {
    if (refusing.refuses && JSON.stringify(payload) === '{}') throw new TypeError('no')
    return payload as never
  }

  it('because the redaction fails on it leaves no session busy: it is recorded as abandoned', async () => {
    const { ctx } = await load({}, { redact })
    const session = sessionOf(ctx, 10)
    const told: unknown[] = []
    ctx.on('tidemark/compaction', (_session, ended) => void told.push(ended.outcome))
    const { summarizer, answer } = held()
    const running = ctx.compaction.compact(session, { summarizer })
    refusing.refuses = true
    answer('short')
    const result = await running
    refusing.refuses = false
    expect(result).toMatchObject({ outcome: 'failed', error: { code: 'SUMMARY_REFUSED' } })
    expect(session.log.last).toMatchObject({ type: 'bracket/abandoned', data: { bracket: 'compaction' } })
    expect(ctx.compaction.status(session)).not.toHaveProperty('live')
    expect(await ctx.compaction.compact(session)).toMatchObject({ outcome: 'applied' })
    await new Promise(setImmediate)
    expect(told).toEqual(['failed', 'applied'])
  })

  it('because listeners append without end is recorded once they are done', async () => {
    const { ctx } = await load()
    const session = sessionOf(ctx, 10)
    const { summarizer, fail } = held()
    const stop = new AbortController()
    const running = ctx.compaction.compact(session, { summarizer, signal: stop.signal })
    flood(ctx, session, () => stop.abort())
    await expect(running).rejects.toMatchObject({ code: 'BACK_PRESSURE' })
    await expect.poll(() => session.log.last?.type).toBe('compact/end')
    expect(session.log.last).toMatchObject({ data: { outcome: 'cancelled', error: { code: 'ABORTED' } } })
    fail(new TypeError('too late'))
  })

  it('because its listener throws is recorded all the same', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    ctx.on('tidemark/event', () => {
      throw new TypeError('no')
    })
    const failing = doing(() => Promise.reject(new TypeError('no')))
    expect(await ctx.compaction.compact(session, { summarizer: failing })).toMatchObject({
      outcome: 'failed',
    })
    expect(session.log.last?.type).toBe('compact/end')
  })
})
