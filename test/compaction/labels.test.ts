import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { facts, factsWith, messagesTokens, o200k } from '@tidemark/compaction'
import type { Session, SessionSnapshot, SessionView, UserPart } from '@tidemark/session-core'
import * as persistence from '@tidemark/session-persistence'
import type {} from '@tidemark/session-persistence/cordis'
import type { Context } from 'cordis'
import { describe, expect, it } from 'vitest'
import {
  codeOf,
  cold,
  crash,
  load,
  loadCompaction,
  say,
  seen,
  sessionOf,
  startHost,
  stored,
  systemTexts,
} from './host.ts'
import { doing, held, saying } from './summarizers.ts'

const friday = 'CRITICAL: never push on a Friday'
const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex')
const keyOf = (text: string): string => `line-${digestOf(text).slice(0, 16)}`

function write(session: Session, text: string, author: UserPart['author'] = 'human'): number {
  return session.append('user/message', { parts: [{ type: 'text', text, author }] }).seq
}

/** A snapshot as a storage keeps it. */
function kept(view: SessionView): SessionSnapshot {
  const { seq, types, projections } = view.snapshot()
  return { seq, types, projections: new Map(JSON.parse(JSON.stringify([...projections])) as []) }
}

describe('a line that a person labelled', () => {
  it('is a fact from its message on, with no event of its own', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 1)
    const seq = write(session, `Please.\n- ${friday}\nThanks.`)
    expect(session.log.length).toBe(seq + 1)
    expect(ctx.compaction.facts(session)).toEqual([
      {
        key: keyOf(friday),
        text: friday,
        digest: digestOf(friday),
        seq,
        sourceSeq: seq,
        by: 'human',
        from: 'label',
      },
    ])
    expect(ctx.compaction.problems(session)).toEqual([])
  })

  it('keeps the order of the lines, parts and messages', async () => {
    const ctx = await startHost()
    const session = ctx.sessions.create()
    const part = (text: string): UserPart => ({ type: 'text', text, author: 'human' })
    session.append('user/message', {
      parts: [part('FACT: 1\nFACT: 2'), part('```\nFACT: no'), part('FACT: 3')],
    })
    write(session, 'FACT: 4')
    expect(ctx.compaction.facts(session).map(({ text }) => text)).toEqual(
      [1, 2, 3, 4].map((which) => `FACT: ${which}`),
    )
  })

  it('is none when somebody else wrote it', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 1)
    for (const author of ['agent', 'file', 'tool', 'system'] as const) write(session, friday, author)
    const text = { type: 'text' as const, text: friday }
    session.append('assistant/chunk', { kind: 'text', text: friday })
    session.append('assistant/message', { parts: [text] })
    const { seq } = session.append('tool/call', { callId: 'c', name: 'cat', arguments: { text: friday } })
    session.append('tool/result', { callId: 'c', callSeq: seq, outcome: 'ok', parts: [text] })
    const file = { type: 'file' as const, mediaType: 'text/plain', name: friday, uri: friday }
    session.append('user/message', { parts: [{ ...file, author: 'human' }] })
    expect(ctx.compaction.facts(session)).toEqual([])
    await ctx.compaction.compact(session, { summarizer: saying(friday), retainMessages: 0 })
    expect(ctx.compaction.facts(session)).toEqual([])
    expect(systemTexts(session)).toEqual([])
  })

  it('is superseded and ended by its key also where that holds a joiner', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    const key = 'قانون\u200cها'
    write(session, `CONSTRAINT[${key}]: push on Monday only`)
    write(session, `CONSTRAINT[${key}]: never push`)
    await ctx.compaction.compact(session)
    expect(systemTexts(session).slice(1)).toEqual([`CONSTRAINT[${key}]: never push`])
    expect(ctx.compaction.pin(session, { key, text: 'never' })).toMatchObject({ key })
    expect(ctx.compaction.unpin(session, key)).toBe(true)
    for (const unfit of ['\u200d', 'a\u200f']) {
      expect(await codeOf(() => ctx.compaction.pin(session, { key: unfit, text: 'x' }))).toBe('INVALID_EVENT')
    }
  })

  it('whose key cannot be one is in force under a key made of it, and reported', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    const line = 'CONSTRAINT[a\u200f]: never push'
    const seq = write(session, line)
    expect(ctx.compaction.facts(session)).toMatchObject([{ key: keyOf(line), text: line }])
    expect(ctx.compaction.problems(session)).toEqual([{ seq, line, reason: 'unfit-key' }])
    await ctx.compaction.compact(session)
    expect(systemTexts(session).slice(1)).toEqual([line])
  })

  it('in a fence that nothing closes is not in force, and reported', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 1)
    const seq = write(session, '```\nmake\n``` done\nCRITICAL: never push')
    expect(ctx.compaction.facts(session)).toEqual([])
    expect(ctx.compaction.problems(session)).toEqual([
      { seq, line: 'CRITICAL: never push', reason: 'unclosed-code' },
    ])
  })

  it('is superseded by the next line of its key, and by a pin of it, and supersedes one', async () => {
    const ctx = await startHost()
    const session = ctx.sessions.create()
    const inForce = (): unknown => ctx.compaction.facts(session).map(({ from, text }) => [from, text])
    write(session, 'CONSTRAINT[deploy]: by hand\nCONSTRAINT: [deploy] with a tool')
    expect(inForce()).toEqual([['label', 'CONSTRAINT: [deploy] with a tool']])
    ctx.compaction.pin(session, { key: 'deploy', text: 'never' })
    expect(inForce()).toEqual([['pin', 'never']])
    write(session, 'FACT[other]: x\nCONSTRAINT[deploy]: on Mondays')
    expect(inForce()).toEqual([
      ['label', 'FACT[other]: x'],
      ['label', 'CONSTRAINT[deploy]: on Mondays'],
    ])
    write(session, 'FACT: [other] x')
    expect(inForce()).toEqual([
      ['label', 'CONSTRAINT[deploy]: on Mondays'],
      ['label', 'FACT: [other] x'],
    ])
  })

  it('that is said twice is one fact, and moves to where it was said last', async () => {
    const ctx = await startHost()
    const session = ctx.sessions.create()
    write(session, 'FACT: a\nFACT: b')
    const again = write(session, 'FACT: a')
    expect(ctx.compaction.facts(session)).toMatchObject([
      { text: 'FACT: b' },
      { text: 'FACT: a', seq: again },
    ])
  })

  it('ends when it is unpinned, and the model is shown which line it was', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    const seq = write(session, friday)
    expect(ctx.compaction.unpin(session, keyOf(friday))).toBe(true)
    expect(ctx.compaction.unpin(session, keyOf(friday))).toBe(false)
    expect(ctx.compaction.facts(session)).toEqual([])
    expect(systemTexts(session).at(-1)).toBe(friday)
    for (let turn = 0; turn < 8; turn++) say(session, `more ${turn}`)
    const range = { from: seq + 1, through: session.log.length - 1 }
    await ctx.compaction.compact(session, { range, summarizer: saying('progress') })
    expect(systemTexts(session)).toMatchObject([expect.stringMatching(/no earlier labelled line/)])
    expect(seen(session)).toBe(cold(ctx, session))
    write(session, friday)
    expect(ctx.compaction.facts(session)).toMatchObject([{ text: friday, from: 'label' }])
  })

  it('FR-E04: is equal byte for byte after each of 12 compactions by a summarizer that says something else', async () => {
    const ctx = await startHost()
    let session = ctx.sessions.create()
    const line = 'CRITICAL: never\u00a0push é, 日本, 🌊\r on a "Friday"  —\\n'
    write(session, `${line}\t \nand so on`)
    let round = 0
    const summarizer = doing(() => ({ text: `round ${round}: push on Fridays; CRITICAL: always push` }))
    for (; round < 12; round++) {
      for (let turn = 0; turn < 6; turn++) say(session, `round ${round}, turn ${turn}`)
      expect(await ctx.compaction.compact(session, { summarizer })).toMatchObject({ outcome: 'applied' })
      expect(systemTexts(session).slice(1)).toEqual([line])
      expect(seen(session)).toBe(cold(ctx, session))
      session = crash(ctx, session)
    }
    expect(ctx.compaction.facts(session)).toMatchObject([{ text: line, digest: digestOf(line), seq: 0 }])
  })

  it('that came while a summary was made is in the block', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    const { summarizer, answer } = held()
    const running = ctx.compaction.compact(session, { summarizer })
    write(session, friday)
    answer('short')
    await running
    expect(systemTexts(session).slice(1)).toEqual([friday])
    expect(session.messages().at(-1)).toMatchObject({ parts: [{ text: friday, author: 'human' }] })
  })
})

describe('a labelled line outlives', () => {
  it('a crash right after its message, and one at any event since', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    const seq = write(session, friday)
    say(session, 'more')
    await ctx.compaction.compact(session)
    const last = session.log.length - 1
    for (let through = seq - 1; through <= last; through++) {
      const resumed = crash(ctx, session, through)
      const texts = ctx.compaction.facts(resumed).map(({ text }) => text)
      expect(texts).toEqual(through < seq ? [] : [friday])
      await ctx.sessions.dispose(resumed)
    }
  })

  it('a fork after it, and is not in one before it', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 1)
    const seq = write(session, friday)
    const [before, after] = [seq - 1, seq].map((through) => ctx.sessions.fork(session, { through }))
    write(session, 'FACT: only in the parent')
    expect(ctx.compaction.facts(before!)).toEqual([])
    expect(ctx.compaction.facts(after!)).toMatchObject([{ text: friday, seq }])
    expect(ctx.compaction.unpin(after!, keyOf(friday))).toBe(true)
    expect(ctx.compaction.facts(session).length).toBe(2)
  })

  it('its host: a stored session that is read or resumed holds it, before and after a compaction', async (test) => {
    const root = mkdtempSync(join(tmpdir(), 'tidemark-labels-'))
    test.onTestFinished(() => rmSync(root, { recursive: true, force: true }))
    const startStored = async (): Promise<Context> => {
      const ctx = await startHost({ contextTokensMax: 1_000 })
      await ctx.plugin(persistence, { enabled: true, root })
      return ctx
    }
    const first = await startStored()
    const session = await first.sessionPersistence.create({ id: 'kept' })
    for (let turn = 0; turn < 12; turn++) say(session, `request ${turn}`)
    write(session, friday)
    await first.sessions.flush(session)
    const read = await first.sessionPersistence.inspect('kept')
    expect(first.compaction.facts(read)).toMatchObject([{ text: friday, from: 'label' }])
    await first.sessions.dispose(session)
    for (let life = 0; life < 3; life++) {
      const ctx = await startStored()
      const resumed = await ctx.sessionPersistence.resume('kept')
      expect(ctx.compaction.facts(resumed)).toMatchObject([{ text: friday, sourceSeq: 48 }])
      for (let turn = 0; turn < 6; turn++) say(resumed, `life ${life}, turn ${turn}`)
      expect(await ctx.compaction.maybeCompact(resumed)).toMatchObject({ outcome: 'applied' })
      expect(systemTexts(resumed).slice(1)).toEqual([friday])
      expect(messagesTokens(resumed.messages(), o200k)).toBeLessThanOrEqual(800)
      await ctx.sessions.dispose(resumed)
    }
  })

  it('a snapshot that stands for its message', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 2)
    write(session, `${friday}\nFACT:`)
    const snapshot = kept(session)
    const replay = ctx.sessions.replay(session.header, { snapshot })
    expect(replay.view.log.base).toBe(session.log.length)
    expect(ctx.compaction.facts(replay.view)).toEqual(ctx.compaction.facts(session))
    expect(ctx.compaction.problems(replay.view)).toEqual(ctx.compaction.problems(session))
    const resumed = ctx.sessions.create({ seed: replay.view.seed() })
    write(resumed, 'FACT: later')
    expect(ctx.compaction.facts(resumed).map(({ text }) => text)).toEqual([friday, 'FACT: later'])
  })

  it('the plugin: what was folded goes on with the next one', async () => {
    const { ctx, plugin } = await load({ labels: ['RULE:'] })
    const session = sessionOf(ctx, 1)
    write(session, 'RULE: x')
    expect(ctx.compaction.facts(session).length).toBe(1)
    await plugin.dispose()
    write(session, 'RULE: y')
    await loadCompaction(ctx, { labels: ['RULE:'] })
    expect(ctx.compaction.facts(session).map(({ text }) => text)).toEqual(['RULE: x', 'RULE: y'])
  })
})

describe('the labels', () => {
  it('are those of the host, and each list of them has a projection of its own', async () => {
    const { ctx, plugin } = await load({ labels: ['规则：'] })
    const session = sessionOf(ctx, 1)
    write(session, `${friday}\n规则: 不要推送`)
    expect(ctx.compaction.facts(session)).toMatchObject([{ text: '规则: 不要推送' }])
    const name = factsWith(['规则：']).name
    expect(name).toMatch(/^facts-[0-9a-f]{8}$/)
    expect([...session.snapshot().projections.keys()]).toContain(name)
    const snapshot = kept(session)
    await plugin.dispose()
    await loadCompaction(ctx)
    expect(ctx.compaction.facts(session)).toMatchObject([{ text: friday }])
    // A snapshot of the other labels says nothing of these: the log is read, or nothing is said.
    const replay = ctx.sessions.replay(session.header, { snapshot })
    expect(await codeOf(() => ctx.compaction.facts(replay.view))).toBe('NOT_LOADED')
    const whole = ctx.sessions.replay(session.header, { snapshot, from: 0 })
    whole.push(stored(session))
    expect(ctx.compaction.facts(whole.view)).toMatchObject([{ text: friday }])
  })

  it('in another order, or named twice, are the same ones', () => {
    expect(factsWith(['FACT:', 'CRITICAL:', 'CONSTRAINT:', 'FACT:'])).toBe(facts)
    expect(facts).toMatchObject({ name: 'facts', version: 6 })
    expect(factsWith(['a:', 'b:'])).toBe(factsWith(['b:', 'a:']))
    expect(factsWith(['a:']).name).not.toBe(factsWith(['b:']).name)
    expect(factsWith([]).name).not.toBe(facts.name)
  })

  it('are read in what the log holds after redaction', async () => {
    const hide = (payload: unknown): never =>
      JSON.parse(JSON.stringify(payload).replaceAll('hunter2', 'hidden').replaceAll('NOTE', 'FACT')) as never
    const { ctx } = await load({}, { redact: hide })
    const session = sessionOf(ctx, 10)
    write(session, 'CRITICAL: the word is hunter2\nNOTE: x')
    expect(ctx.compaction.facts(session).map(({ text }) => text)).toEqual([
      'CRITICAL: the word is hidden',
      'FACT: x',
    ])
    expect(await ctx.compaction.compact(session)).toMatchObject({ outcome: 'applied' })
    expect(JSON.stringify(stored(session))).not.toContain('hunter2')
  })

  it('cost nothing while an answer streams', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 1)
    write(session, friday)
    const state = session.read(facts)
    for (let piece = 0; piece < 10; piece++) session.append('assistant/chunk', { kind: 'text', text: friday })
    write(session, 'no label at all')
    expect(session.read(facts)).toBe(state)
  })
})

describe('what cannot be a fact', () => {
  it('is reported with its seq and its beginning, and the newest 32 are kept', async () => {
    const ctx = await startHost()
    const session = ctx.sessions.create()
    write(session, `FACT:\nCRITICAL[a]: \nFACT: ${'x'.repeat(192)}🌊\ud83c`)
    expect(ctx.compaction.facts(session)).toEqual([])
    expect(ctx.compaction.problems(session)).toEqual([
      { seq: 0, line: 'FACT:', reason: 'empty' },
      { seq: 0, line: 'CRITICAL[a]:', reason: 'empty' },
      { seq: 0, line: `FACT: ${'x'.repeat(192)}🌊`, reason: 'malformed' },
    ])
    for (let seq = 1; seq <= 30; seq++) write(session, `FACT[${seq}]:`)
    const problems = ctx.compaction.problems(session)
    expect(problems.length).toBe(32)
    expect([problems[0]?.line, problems.at(-1)?.line]).toEqual(['CRITICAL[a]:', 'FACT[30]:'])
  })

  it('is what exceeds the highest bounds that a host can set: with these a compaction always goes through', async () => {
    for (const [count, padding] of [
      [1_000, 0],
      [1_001, 0],
      [1_024, 0],
      [1_100, 0],
      [1_100, 1_500],
    ] as const) {
      const ctx = await startHost({ factCountMax: 1_000, factsSizeBytesMax: 1_048_576, retainMessages: 1 })
      const session = ctx.sessions.create()
      const lines = Array.from({ length: count }, (_, index) =>
        `FACT: ${index} ${'x'.repeat(padding)}`.trim(),
      )
      write(session, lines.join('\n'))
      for (let turn = 0; turn < 4; turn++) say(session, `request ${turn}`)
      const inForce = ctx.compaction.facts(session).map(({ text }) => text)
      expect(inForce).toEqual(lines.slice(0, inForce.length))
      expect(ctx.compaction.problems(session).length).toBe(Math.min(32, count - inForce.length))
      expect(padding > 0 || inForce.length === Math.min(count, 1_000)).toBe(true)
      const result = await ctx.compaction.compact(session)
      expect(result).toMatchObject({ outcome: 'applied', facts: { missing: [] } })
      expect(systemTexts(session)).toEqual(expect.arrayContaining(inForce))
    }
  })

  it('is more than 1,000 facts: the next one is not in force and is reported, until one ends', async () => {
    const ctx = await startHost({ factCountMax: 1_000, factsSizeBytesMax: 1_048_576 })
    const session = ctx.sessions.create()
    write(session, Array.from({ length: 1_000 }, (_, index) => `FACT: ${index}`).join('\n'))
    expect(ctx.compaction.facts(session).length).toBe(1_000)
    expect(ctx.compaction.problems(session)).toEqual([])
    const seq = write(session, 'FACT: one more\nFACT: 7')
    expect(ctx.compaction.problems(session)).toEqual([{ seq, line: 'FACT: one more', reason: 'too-many' }])
    expect(ctx.compaction.facts(session).at(-1)).toMatchObject({ text: 'FACT: 7', seq })
    ctx.compaction.unpin(session, keyOf('FACT: 7'))
    write(session, 'FACT: one more')
    expect(ctx.compaction.facts(session).at(-1)).toMatchObject({ text: 'FACT: one more' })
  })

  it('is more than 1 MiB of keys and texts, however it was pinned; what it would supersede stays', async () => {
    const ctx = await startHost({ factCountMax: 1_000, factsSizeBytesMax: 1_048_576 })
    const session = ctx.sessions.create()
    const line = (key: string, sizeBytes: number): string =>
      `FACT[${key}]: ${'é'.repeat((sizeBytes - 2 * key.length - 8) / 2)}`
    write(session, line('ab', 1_048_576 - 16))
    write(session, line('cd', 16))
    expect(ctx.compaction.problems(session)).toEqual([])
    const seq = write(session, line('cd', 18))
    const text = 'x'
    session.append('fact/pinned', { key: 'k', text, digest: digestOf(text), by: 'me' })
    expect(ctx.compaction.problems(session)).toEqual([
      { seq, line: line('cd', 18), reason: 'too-large' },
      { seq: seq + 1, line: 'x', reason: 'too-large' },
    ])
    expect(ctx.compaction.facts(session).map(({ key }) => key)).toEqual(['ab', 'cd'])
    expect(ctx.compaction.facts(session)[1]).toMatchObject({ text: line('cd', 16) })
  })

  it('is more than the bounds of the host: a pin and a compaction are refused by name, and can be helped', async () => {
    const ctx = await startHost({ factCountMax: 2, factsSizeBytesMax: 100 })
    const session = sessionOf(ctx, 10)
    write(session, 'FACT[a]: x\nFACT[b]: y')
    expect(await ctx.compaction.compact(session)).toMatchObject({ outcome: 'applied' })
    expect(await codeOf(() => ctx.compaction.pin(session, { key: 'c', text: 'z' }))).toBe('PINS_TOO_LARGE')
    write(session, 'FACT[c]: z')
    for (let turn = 0; turn < 10; turn++) say(session, `more ${turn}`)
    const refused = { code: 'PINS_TOO_LARGE', details: { keys: ['a', 'b', 'c'] } }
    await expect(ctx.compaction.compact(session)).rejects.toMatchObject(refused)
    ctx.compaction.unpin(session, 'a')
    expect(await ctx.compaction.compact(session)).toMatchObject({ outcome: 'applied' })
    expect(systemTexts(session).slice(1, 3)).toEqual(['FACT[b]: y', 'FACT[c]: z'])
    write(session, `FACT[c]: ${'z'.repeat(100)}`)
    for (let turn = 0; turn < 10; turn++) say(session, `and more ${turn}`)
    await expect(ctx.compaction.compact(session)).rejects.toMatchObject({
      code: 'PINS_TOO_LARGE',
      details: { keys: ['b', 'c'] },
    })
  })

  it('a message of labelled lines alone is not worth a summary: all of it would stand in the block', async () => {
    const ctx = await startHost({ retainMessages: 0 })
    const session = ctx.sessions.create()
    write(session, Array.from({ length: 20 }, (_, index) => `FACT: ${index} ${'x'.repeat(50)}`).join('\n'))
    expect(await ctx.compaction.compact(session)).toEqual({ outcome: 'nothing', reason: 'too-short' })
    // Said at the end they stay, and stand in the block as well.
    const late = sessionOf(ctx, 2)
    write(late, 'FACT: x '.repeat(200))
    const reason = 'too-short'
    expect(await ctx.compaction.compact(late, { retainMessages: 1 })).toEqual({ outcome: 'nothing', reason })
    for (let turn = 0; turn < 8; turn++) say(late, `more ${turn}`)
    const before = messagesTokens(late.messages(), o200k)
    expect(await ctx.compaction.compact(late)).toMatchObject({ outcome: 'applied' })
    expect(messagesTokens(late.messages(), o200k)).toBeLessThan(before)
  })
})
