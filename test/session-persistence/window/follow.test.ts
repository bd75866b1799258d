import { appendFileSync, cpSync, readdirSync, renameSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import * as core from '@tidemark/session-core'
import type { AnySessionEvent } from '@tidemark/session-core'
import { MemoryStorage } from '@tidemark/session-persistence/memory'
import type { Cursor, FollowedBatch } from '@tidemark/session-persistence'
import * as persistence from '@tidemark/session-persistence'
import { Context } from 'cordis'
import { describe, expect, it } from 'vitest'
import { folderOf, segmentsOf } from '../files.ts'
import { say, start, startJournal, stop } from '../host.ts'
import { codeOf } from '../refusal.ts'
import { scratch } from '../scratch.ts'

type Followed = AsyncGenerator<FollowedBatch, void>

/** Takes batches until so many events came. */
async function take(stream: Followed, count: number): Promise<{ events: AnySessionEvent[]; cursor: Cursor }> {
  const events: AnySessionEvent[] = []
  let cursor: Cursor = { seq: -1, digest: '' }
  while (events.length < count) {
    const step = await stream.next()
    if (step.done) break
    events.push(...step.value.events)
    cursor = step.value.cursor
  }
  return { events, cursor }
}

const seqs = (events: readonly AnySessionEvent[]): number[] => events.map(({ seq }) => seq)
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index)
const textIn = (event: AnySessionEvent | undefined): string | undefined =>
  (event?.data as { parts: { text: string }[] } | undefined)?.parts[0]?.text

describe('following a stored session', () => {
  it('G38: gives what is there and what comes, once and in order, over resumes and new segments', async () => {
    const root = scratch()
    const settings = { enabled: true, root, flushDelayMs: 5, segmentSizeBytesMax: 4_096 }
    const writer = await start(settings)
    const reader = await startJournal(root)
    const session = await writer.ctx.sessionPersistence.create({ id: 'a' })
    say(session, 'before')
    await session.flush()
    const stream = reader.sessionPersistence.follow('a', { pollMs: 10 })
    const found = [...(await take(stream, 1)).events]
    for (let batch = 0; batch < 60; batch++) {
      for (let event = 0; event < 4; event++) say(session, `${batch}.${event} ${'x'.repeat(50)}`)
      await session.flush()
    }
    found.push(...(await take(stream, 240)).events)
    const sealed = readdirSync(folderOf(root, 'a')).filter((name) => /^(c-|000001-00[1-9])/.test(name))
    expect(sealed.length).toBeGreaterThan(0)
    await stop(writer)
    const next = await start(settings)
    const resumed = await next.ctx.sessionPersistence.resume('a')
    say(resumed, 'after')
    await resumed.flush()
    found.push(...(await take(stream, 2)).events)
    expect(seqs(found)).toEqual(upTo(243))
    expect(textIn(found.at(-1))).toBe('after')
    await stream.return()
  })

  it('goes on after a cursor in another process, and refuses one of another history', async () => {
    const root = scratch()
    const ctx = await startJournal(root)
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    const receipts = []
    for (const text of ['one', 'two', 'three']) {
      say(session, text)
      receipts.push(await session.flush())
    }
    const { durableSeq, digest = '' } = receipts[1] ?? {}
    const after = { seq: durableSeq ?? -1, digest }
    const other = await startJournal(root)
    const stream = other.sessionPersistence.follow('a', { after, pollMs: 10 })
    expect(textIn((await take(stream, 1)).events[0])).toBe('three')
    await stream.return()
    const foreign = { seq: after.seq, digest: '0'.repeat(64) }
    expect(await codeOf(() => other.sessionPersistence.follow('a', { after: foreign }).next())).toBe(
      'CORRUPT',
    )
    const beyond = { seq: 99, digest }
    expect(await codeOf(() => other.sessionPersistence.follow('a', { after: beyond }).next())).toBe('CORRUPT')
    expect(await codeOf(() => other.sessionPersistence.follow('none').next())).toBe('NOT_FOUND')
    expect(await codeOf(() => other.sessionPersistence.follow('a', { pollMs: 1 }).next())).toBe('INVALID_SEQ')
  })

  it('waits at a torn end until somebody goes on', async () => {
    const root = scratch()
    const writer = await start({ enabled: true, root, flushDelayMs: 5 })
    const session = await writer.ctx.sessionPersistence.create({ id: 'a' })
    say(session, 'whole')
    await session.flush()
    await stop(writer)
    const path = segmentsOf(root, 'a')[0]?.path ?? ''
    appendFileSync(path, '{"seq":1,"time":0,"ty')
    const reader = await startJournal(root)
    const stream = reader.sessionPersistence.follow('a', { pollMs: 10 })
    expect(seqs((await take(stream, 1)).events)).toEqual([0])
    const next = take(stream, 3)
    const again = await startJournal(root)
    const resumed = await again.sessionPersistence.resume('a')
    say(resumed, 'on')
    await resumed.flush()
    expect((await next).events.map(({ type }) => type)).toEqual([
      'session/recovered',
      'session/resumed',
      'user/message',
    ])
    await stream.return()
  })

  it('G38: notices a log that was replaced, cut short, or removed', async () => {
    const replaced = async (
      change: (folder: string, old: string) => void,
      durability: 'lazy' | 'strict' = 'strict',
    ): Promise<string> => {
      const root = scratch()
      const writer = await start({ enabled: true, root, flushDelayMs: 5, durability })
      const session = await writer.ctx.sessionPersistence.create({ id: 'a' })
      say(session, 'one')
      await session.flush()
      const old = join(scratch(), 'old')
      cpSync(segmentsOf(root, 'a')[0]?.path ?? '', old)
      say(session, 'two')
      await session.flush()
      const reader = await startJournal(root)
      const stream = reader.sessionPersistence.follow('a', { pollMs: 10 })
      await take(stream, 2)
      const next = codeOf(() => stream.next())
      change(folderOf(root, 'a'), old)
      const code = await next
      await stop(writer)
      return code
    }
    const segment = '000001-000.jsonl'
    expect(await replaced((folder) => rmSync(folder, { recursive: true }))).toBe('NOT_FOUND')
    expect(await replaced((folder, old) => renameSync(old, join(folder, segment)))).toBe('CORRUPT')
    expect(await replaced((folder) => truncateSync(join(folder, segment), 900))).toBe('CORRUPT')
    // Of the last batch nothing may prove that it was durable: a takeover could have dropped it.
    expect(await replaced((folder) => truncateSync(join(folder, segment), 1_200), 'lazy')).toBe('TAIL_MOVED')
  })

  it('ends when it is told to, and when persistence is closed', async () => {
    const root = scratch()
    const host = await start({ enabled: true, root, flushDelayMs: 5 })
    const session = await host.ctx.sessionPersistence.create({ id: 'a' })
    say(session, 'one')
    await session.flush()
    const stopped = new AbortController()
    const stream = host.ctx.sessionPersistence.follow('a', { pollMs: 10, signal: stopped.signal })
    await take(stream, 1)
    const end = stream.next()
    stopped.abort()
    expect(await end).toEqual({ done: true, value: undefined })
    const other = host.ctx.sessionPersistence.follow('a', { pollMs: 10 })
    await take(other, 1)
    const last = other.next()
    await stop(host)
    expect(await last).toEqual({ done: true, value: undefined })
  })

  it('works with a storage that cannot tell what is new', async () => {
    const ctx = new Context()
    const coreFiber = await ctx.plugin(core)
    ctx.provide('sessionStorage', new MemoryStorage())
    await ctx.plugin(persistence, { enabled: true, flushDelayMs: 5 })
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    say(session, 'one')
    await session.flush()
    const stream = ctx.sessionPersistence.follow('a', { pollMs: 10 })
    expect(seqs((await take(stream, 1)).events)).toEqual([0])
    const next = take(stream, 2)
    say(session, 'two')
    say(session, 'three')
    await session.flush()
    expect(seqs((await next).events)).toEqual([1, 2])
    await coreFiber.dispose()
  })
})
