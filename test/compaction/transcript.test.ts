import { describe, expect, it } from 'vitest'
import { cold, crash, say, seen, sessionOf, startHost, stored, summaries } from './host.ts'
import { held, saying } from './summarizers.ts'

const said = (text: string) => ({ parts: [{ type: 'text' as const, text, author: 'human' as const }] })

describe('the transcript', () => {
  it('D07, G33: the log keeps every event; only what the model sees changes', async () => {
    const ctx = await startHost()
    const session = ctx.sessions.create()
    for (let record = 0; record < 200; record++) session.append('user/message', said(`record ${record}`))
    const originals = stored(session)
    const result = await ctx.compaction.compact(session, { range: { from: 1, through: 150 } })
    expect(result).toMatchObject({ outcome: 'applied', range: { from: 1, through: 150 } })
    expect(stored(session).slice(0, 200)).toEqual(originals)
    expect(session.messages().length).toBe(1 + 1 + 49)
    expect(session.messages()[0]?.parts[0]).toMatchObject({ text: 'record 0' })
    expect(session.messages()[2]?.parts[0]).toMatchObject({ text: 'record 151' })
  })

  it('D07: the log grows by as many bytes, however much a compaction replaces, and none of what it replaces', async () => {
    const ctx = await startHost()
    const word = 'Unmistakable'
    const grown = async (turns: number): Promise<number> => {
      const session = ctx.sessions.create()
      for (let turn = 0; turn < turns; turn++) say(session, `${word} ${turn}`, `${word} answer. `.repeat(200))
      const { length } = session.log
      await ctx.compaction.compact(session, { summarizer: saying('a summary') })
      const added = stored(session).slice(length)
      expect(added.map(({ type }) => type)).toEqual(['compact/start', 'compact/summary', 'compact/end'])
      const text = JSON.stringify(added)
      expect(text).not.toContain(word)
      return text.length
    }
    const [few, many] = [await grown(10), await grown(400)]
    // Longer numbers take more digits.
    expect(many - few).toBeLessThan(60)
  })

  it('D08: what arrives while a summary is made stays after it, in order', async () => {
    const ctx = await startHost({ retainMessages: 0 })
    const session = ctx.sessions.create()
    for (let record = 0; record <= 100; record++) session.append('user/message', said(`record ${record}`))
    const { summarizer, answer } = held()
    const running = ctx.compaction.compact(session, { summarizer })
    session.append('user/message', said('late 1'))
    session.append('user/message', said('late 2'))
    answer('all of it')
    expect(await running).toMatchObject({ range: { from: 0, through: 100 } })
    const texts = session.messages().map(({ parts }) => parts.at(-1))
    expect(texts).toMatchObject([{ text: 'all of it' }, { text: 'late 1' }, { text: 'late 2' }])
  })

  it('D10: is the same live, read cold, resumed and in a fork, before, during and after', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 12)
    ctx.compaction.pin(session, { key: 'rule', text: 'never do X' })
    const { summarizer, answer } = held()
    const isSame = (): void => {
      const live = seen(session)
      expect(cold(ctx, session)).toBe(live)
      expect(seen(crash(ctx, session))).toBe(live)
      expect(seen(ctx.sessions.fork(session))).toBe(live)
    }
    isSame()
    const running = ctx.compaction.compact(session, { summarizer })
    isSame()
    say(session, 'meanwhile')
    isSame()
    answer('short')
    await running
    isSame()
    expect(session.messages().length).toBe(2 + 8 + 2)
    say(session, 'afterwards')
    await ctx.compaction.compact(session)
    isSame()
  })

  it('D10: a fork cut anywhere reads like the parent did there', async () => {
    const ctx = await startHost()
    const session = ctx.sessions.create()
    const views: string[] = [seen(session)]
    ctx.on('tidemark/event', (from) => {
      if (from === session) views.push(seen(session))
    })
    ctx.compaction.pin(session, { key: 'rule', text: 'never do X' })
    for (let round = 0; round < 10; round++) say(session, `round ${round}`)
    await ctx.compaction.compact(session)
    say(session, 'more')
    await ctx.compaction.compact(session)
    for (let through = 0; through < session.log.length; through++) {
      const child = ctx.sessions.fork(session, { through })
      expect(seen(child)).toBe(views[through + 1])
      expect(cold(ctx, child)).toBe(views[through + 1])
      await ctx.sessions.dispose(child)
    }
  })

  it('a fork inside a running compaction inherits an orphan and can compact; the parent finishes', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    const { summarizer, answer } = held()
    const running = ctx.compaction.compact(session, { summarizer })
    const child = ctx.sessions.fork(session)
    expect(await ctx.compaction.compact(child, { summarizer: saying('of the child') })).toMatchObject({
      outcome: 'applied',
    })
    answer('of the parent')
    expect(await running).toMatchObject({ outcome: 'applied' })
    expect(summaries(session)).toEqual(['of the parent'])
    expect(summaries(child)).toEqual(['of the child'])
    expect([cold(ctx, session), cold(ctx, child)]).toEqual([seen(session), seen(child)])
  })

  it('FR-G04: every fork cut after a compaction shows its kept messages, in every generation', async () => {
    const ctx = await startHost({ retainMessages: 4 })
    const session = sessionOf(ctx, 10)
    await ctx.compaction.compact(session)
    const kept = session.messages()
    const child = ctx.sessions.fork(session)
    const grandchild = ctx.sessions.fork(child)
    expect(child.messages()).toEqual(kept)
    expect(grandchild.messages()).toEqual(kept)
    say(grandchild, 'only here')
    await ctx.compaction.compact(grandchild)
    expect(grandchild.messages().length).toBe(1 + 4)
    expect(session.messages()).toEqual(kept)
  })

  it('keeps an interrupted text that began to stream before the range was chosen', async () => {
    const ctx = await startHost({ retainMessages: 0 })
    const session = sessionOf(ctx, 10)
    session.append('turn/start', {})
    session.append('assistant/chunk', { kind: 'text', text: 'half a sentence' })
    session.append('user/message', said('stop'))
    const { summarizer, answer } = held()
    const running = ctx.compaction.compact(session, { summarizer })
    session.append('turn/end', { reason: 'interrupted' })
    answer('short')
    await running
    expect(seen(session)).toContain('half a sentence')
    expect(seen(session)).toBe(cold(ctx, session))
  })
})
