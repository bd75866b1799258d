import { execFile } from 'node:child_process'
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import * as compaction from '@tidemark/compaction'
import type {} from '@tidemark/compaction/cordis'
import type { AnySessionEvent, HistoryPage, HistoryRequest } from '@tidemark/session-core'
import { JournalStorage } from '@tidemark/session-persistence/journal'
import type { Context } from 'cordis'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { folderOf } from '../files.ts'
import { hostOn } from '../foreign-host.ts'
import { say, start } from '../host.ts'
import { CountingPort } from '../journal/counting-port.ts'
import { scratch } from '../scratch.ts'

const run = promisify(execFile)
const script = fileURLToPath(new URL('large-host.mjs', import.meta.url))

/** What a host in a process of its own comes to that has so many MiB for all that it keeps. */
async function host(task: string, root: string, terms: object, heapMib: number): Promise<unknown> {
  const args = [`--max-old-space-size=${heapMib}`, script, task, root, JSON.stringify(terms)]
  return JSON.parse((await run(process.execPath, args)).stdout)
}

function sizeOf(root: string, id: string): number {
  const names = readdirSync(folderOf(root, id))
  return names.reduce((sum, name) => sum + statSync(join(folderOf(root, id), name)).size, 0)
}

function removeSnapshots(root: string, id: string): void {
  for (const name of readdirSync(folderOf(root, id)))
    if (name.startsWith('snapshot-')) rmSync(join(folderOf(root, id), name))
}

describe('logs that are larger than memory', () => {
  it('J01, J03: one longer than any string is written, resumed, forked and verified in bounded memory', async () => {
    const root = scratch()
    // One segment, as it is: nothing is made smaller, and nothing is cut up.
    const config = { segmentSizeBytesMax: 1_073_741_824, compress: false }
    const settings = { config, count: 5_600, sizeBytes: 100_000 }
    const length = 1 + 5_600 + 280
    expect(await host('fill', root, settings, 128)).toEqual({ length })
    expect(sizeOf(root, 'large')).toBeGreaterThan(550_000_000)
    expect(await host('list', root, { config }, 48)).toEqual({ ok: 1 })
    expect(await host('fork', root, { config }, 48)).toEqual({
      length: length + 1,
      parent: { id: 'large', seq: length - 1 },
    })
    const again = { length: length + 1, messages: 282, durableSeq: length + 1 }
    expect(await host('resume', root, { config }, 128)).toMatchObject(again)
    removeSnapshots(root, 'large')
    const cold = { length: length + 3, messages: 283, durableSeq: length + 3 }
    expect(await host('resume', root, { config }, 128)).toMatchObject(cold)
    expect(await host('verify', root, { config }, 128)).toEqual({ kind: 'intact', seq: length + 3 })
  }, 300_000)

  it('J05: a list of large sessions whose index is gone reads their ends, few at a time', async () => {
    const root = scratch()
    const settings = { sessions: 24, count: 60, sizeBytes: 100_000 }
    await host('fillMany', root, settings, 128)
    rmSync(join(root, 'index'), { recursive: true })
    expect(await host('list', root, {}, 32)).toEqual({ ok: 24 })
    const count = new CountingPort()
    const ctx = await hostOn(new JournalStorage({ root, port: count.wrapped }))
    expect((await ctx.sessionPersistence.list({ countMax: 24 })).sessions).toHaveLength(24)
    expect(count.openFilesMax).toBeLessThanOrEqual(4)
  }, 120_000)
})

interface Cited {
  readonly seqs: readonly number[]
}

declare module '@tidemark/session-core' {
  interface SessionEventMap {
    'work/cited': Cited
  }
}

async function storing(root: string): Promise<Context> {
  const { ctx } = await start({
    enabled: true,
    root,
    flushDelayMs: 5,
    snapshotEvents: 1_000,
    retainEvents: 0,
  })
  await ctx.plugin(compaction, { retainMessages: 2 })
  const schema = z.strictObject({ seqs: z.array(z.int()) })
  ctx.sessions.define({ owner: 'citing', events: { 'work/cited': { schema } } })
  return ctx
}

describe('events that cite many, and pages that are bounded', () => {
  it('J08: an event that cites 300,000 others is stored, compacted over, paged, resumed and forked', async () => {
    const ctx = await storing(scratch())
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    say(session, 'begin')
    const seqs = Array.from({ length: 300_000 }, (_, index) => index)
    const cited = session.append('work/cited', { seqs })
    for (let turns = 0; turns < 8; turns++) say(session, `${turns} `.repeat(400))
    await session.flush()
    expect(await ctx.compaction.compact(session)).toMatchObject({ outcome: 'applied' })
    await ctx.sessions.dispose(session)
    const page = await ctx.sessionPersistence.history('a', { from: cited.seq, countMax: 1 })
    expect(page.events.map(({ data }) => data)).toEqual([{ seqs }])
    const fork = await ctx.sessionPersistence.fork('a')
    const resumed = await ctx.sessionPersistence.resume('a')
    expect(fork.messages()).toEqual(resumed.messages())
    expect(fork.log.length).toBe(resumed.log.length)
  })

  it('J10: a page of 100 is 100 events, or fewer where they are large, and all pages give every event once', async () => {
    const ctx = await storing(scratch())
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    for (let index = 0; index < 15_000; index++) {
      session.append('assistant/chunk', { kind: 'text', text: `${index} `.repeat(1 + (index % 40)) })
      if (index % 300 === 299) await session.flush()
    }
    await ctx.sessions.dispose(session)
    const pages: HistoryPage<AnySessionEvent>[] = []
    const first: HistoryRequest = { countMax: 100, sizeBytesMax: 8_000, order: 'forward' }
    for (let next: HistoryRequest | undefined = first; next; next = pages.at(-1)?.next)
      pages.push(await ctx.sessionPersistence.history('a', next))
    const seqs = pages.flatMap(({ events }) => events.map(({ seq }) => seq))
    expect(seqs).toEqual(Array.from({ length: 15_000 }, (_, seq) => seq))
    for (const { events } of pages) {
      expect(events.length).toBeLessThanOrEqual(100)
      expect(JSON.stringify(events).length).toBeLessThan(8_000 + 2_000)
    }
  })
})

describe('what a snapshot saves', () => {
  it('J06: a resume reads as much of a log as of one a fifth as long, and so does the next one', async () => {
    const root = scratch()
    const grow = async (turns: number): Promise<void> => {
      const ctx = await storing(root)
      const stored = ctx.sessionPersistence
      const session = await (existsSync(folderOf(root, 'a'))
        ? stored.resume('a')
        : stored.create({ id: 'a' }))
      for (let turn = 0; turn < turns; turn++) {
        for (let index = 0; index < 500; index++)
          session.append('assistant/chunk', { kind: 'text', text: `${turn} ${index} `.repeat(8) })
        session.append('assistant/message', { parts: [{ type: 'text', text: `turn ${turn}` }] })
        await session.flush()
      }
      await ctx.sessions.dispose(session)
    }
    const resumeBytes = async (): Promise<number> => {
      const count = new CountingPort()
      const host = await hostOn(new JournalStorage({ root, port: count.wrapped }))
      const resumed = await host.sessionPersistence.resume('a')
      const { readBytes } = count
      await host.sessions.dispose(resumed)
      return readBytes
    }
    await grow(20)
    const short = await resumeBytes()
    await grow(80)
    const logSizeBytes = sizeOf(root, 'a')
    expect(logSizeBytes).toBeGreaterThan(2_500_000)
    expect(await resumeBytes()).toBeLessThan(short * 1.2)
    expect(await resumeBytes()).toBeLessThan(short * 1.2)
    removeSnapshots(root, 'a')
    expect(await resumeBytes()).toBeGreaterThan(logSizeBytes * 0.9)
  })
})
