import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { AnySessionEvent, Session } from '@tidemark/session-core'
import { JournalStorage, systemPort } from '@tidemark/session-persistence/journal'
import type { Config } from '@tidemark/session-persistence'
import type { Context } from 'cordis'
import { describe, expect, it } from 'vitest'
import { folderOf } from '../files.ts'
import { hostOn } from '../foreign-host.ts'
import { say, startJournal } from '../host.ts'
import { CountingPort } from '../journal/counting-port.ts'
import { systemError } from '../journal/memory-port.ts'
import { refusalOf } from '../refusal.ts'
import { scratch } from '../scratch.ts'

const mebibyte = 1_048_576
const oneSegment: Config = { compress: false, segmentSizeBytesMax: 64 * mebibyte }

/** Turns of a stream and what came of it: the transcript stays small beside the log. */
async function grow(session: Session, turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    for (let index = 0; index < 100; index++)
      session.append('assistant/chunk', { kind: 'text', text: `${turn} ${index} ${'lorem '.repeat(20)}` })
    session.append('assistant/message', { parts: [{ type: 'text', text: `turn ${turn}` }] })
    await session.flush()
  }
}

async function stored(root: string, turns: number, config: Config): Promise<Context> {
  const ctx = await startJournal(root, config)
  const session = await ctx.sessionPersistence.create({ id: 'a' })
  await grow(session, turns)
  await ctx.sessions.dispose(session)
  return ctx
}

/** Another process, as far as the store can tell, and what it reads and writes. */
async function counted(root: string): Promise<{ ctx: Context; count: CountingPort }> {
  const count = new CountingPort()
  return { ctx: await hostOn(new JournalStorage({ root, port: count.wrapped })), count }
}

function sizesIn(root: string, id: string): Map<string, { ino: number; sizeBytes: number }> {
  const folder = folderOf(root, id)
  const stats = readdirSync(folder).map((name) => [name, statSync(join(folder, name))] as const)
  return new Map(stats.map(([name, { ino, size }]) => [name, { ino, sizeBytes: size }]))
}

async function wholeHistory(ctx: Context, id: string): Promise<AnySessionEvent[]> {
  const events: AnySessionEvent[] = []
  let page = await ctx.sessionPersistence.history(id, { from: 0, order: 'forward' })
  events.push(...page.events)
  while (page.next) events.push(...(page = await ctx.sessionPersistence.history(id, page.next)).events)
  return events
}

describe('what following a log reads', () => {
  it('the log once, and then what comes: not what it has given, and not the way to it', async () => {
    const root = scratch()
    const writer = await startJournal(root, oneSegment)
    const session = await writer.sessionPersistence.create({ id: 'a' })
    await grow(session, 200)
    const logSizeBytes = sizesIn(root, 'a').get('000001-000.jsonl')?.sizeBytes ?? 0
    expect(logSizeBytes).toBeGreaterThan(2 * mebibyte)

    const { ctx, count } = await counted(root)
    const stream = ctx.sessionPersistence.follow('a', { pollMs: 10 })
    let seq = -1
    const until = async (last: number): Promise<void> => {
      while (seq < last) seq = (await stream.next()).value?.cursor.seq ?? last
    }
    await until(session.log.length - 1)
    expect(count.readBytes).toBeLessThan(logSizeBytes * 1.1)

    const looks = 40
    const before = count.readBytes
    for (let look = 0; look < looks; look++) {
      say(session, `look ${look}`)
      await session.flush()
      await until(session.log.length - 1)
    }
    expect((count.readBytes - before) / looks).toBeLessThan(40_000)
    await stream.return()
  })

  it('from a cursor at its end on, no more than the way to it', async () => {
    const root = scratch()
    const writer = await startJournal(root, oneSegment)
    const session = await writer.sessionPersistence.create({ id: 'a' })
    await grow(session, 200)
    const { durableSeq, digest = '' } = await session.flush()
    say(session, 'after')
    await session.flush()
    const { ctx, count } = await counted(root)
    const stream = ctx.sessionPersistence.follow('a', { after: { seq: durableSeq, digest }, pollMs: 10 })
    const { value } = await stream.next()
    expect(value?.events.map(({ seq }: AnySessionEvent) => seq)).toEqual([durableSeq + 1])
    expect(count.readBytes).toBeLessThan(mebibyte / 2)
    await stream.return()
  })
})

describe('what a page of history reads', () => {
  it.each([
    ['a segment as it is', oneSegment],
    ['packs', { segmentSizeBytesMax: mebibyte / 4 }],
  ])('of %s is what is around it, wherever it is', async (_, config) => {
    const root = scratch()
    const ctx = await stored(root, 400, config)
    const lastSeq = 400 * 101 - 1
    const whole = await wholeHistory(ctx, 'a')
    expect(whole).toHaveLength(lastSeq + 1)
    for (const share of [0.1, 0.5, 0.9, 0.99]) {
      const from = Math.floor(lastSeq * share)
      for (const order of ['forward', 'backward'] as const) {
        const reader = await counted(root)
        const request = { from, through: from + 49, countMax: 50, order }
        const page = await reader.ctx.sessionPersistence.history('a', request)
        expect(page.events).toEqual(whole.slice(from, from + 50))
        expect(reader.count.readBytes).toBeLessThan(mebibyte / 2)
      }
    }
  })
})

const kinds = [/^c-.*\.br$/, /^\d{6}-\d{3}\.jsonl$/, /^snapshot-\d/]
const family: Config = { segmentSizeBytesMax: 65_536, snapshotEvents: 500, retainEvents: 0 }

describe('what a fork shares', () => {
  it('G39: is segments, packs and snapshots under another name, of a fork too; it writes a few kilobytes', async () => {
    const root = scratch()
    const ctx = await stored(root, 60, family)
    const resumed = await ctx.sessionPersistence.resume('a')
    await grow(resumed, 1)
    await ctx.sessions.dispose(resumed)
    const whole = await wholeHistory(ctx, 'a')
    const { ctx: forking, count } = await counted(root)
    for (const [of, id] of [
      ['a', 'b'],
      ['b', 'c'],
    ] as const) {
      const before = count.writtenBytes
      const through = whole.length - 1
      const child = await forking.sessionPersistence.fork(of, { id, through })
      await forking.sessions.dispose(child)
      expect(count.writtenBytes - before).toBeLessThan(8_192)
      expect((await wholeHistory(ctx, id)).slice(0, -1)).toEqual(whole)
      const [source, own] = [sizesIn(root, 'a'), sizesIn(root, id)]
      const shared = [...own.keys()].filter((name) => source.get(name)?.ino === own.get(name)?.ino)
      for (const kind of kinds) expect(shared.filter((name) => kind.test(name)).length).toBeGreaterThan(0)
      const rest = [...own].filter(([name]) => !shared.includes(name))
      expect(rest.reduce((sum, [, { sizeBytes }]) => sum + sizeBytes, 0)).toBeLessThan(8_192)
    }
  })

  it.each(['EXDEV', 'EMLINK', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])(
    'is copied where a link is refused as %s, and holds the same',
    async (code) => {
      const root = scratch()
      const ctx = await stored(root, 30, family)
      const count = new CountingPort()
      let refused = 0
      const port = {
        ...count.wrapped,
        link: (from: string, to: string): Promise<void> => {
          if (!to.startsWith(join(root, 'sessions'))) return systemPort.link(from, to)
          refused += 1
          return Promise.reject(systemError(code))
        },
      }
      const copying = await hostOn(new JournalStorage({ root, port }))
      const linked = await ctx.sessionPersistence.fork('a', { id: 'linked' })
      const copied = await copying.sessionPersistence.fork('a', { id: 'copied' })
      expect(refused).toBeGreaterThan(2)
      expect(copied.messages()).toEqual(linked.messages())
      const source = sizesIn(root, 'a')
      const inherited = [...sizesIn(root, 'copied')].filter(([name]) => source.has(name))
      for (const kind of kinds) expect(inherited.filter(([name]) => kind.test(name))).not.toEqual([])
      for (const [name, { ino, sizeBytes }] of inherited) {
        expect(ino).not.toBe(source.get(name)?.ino)
        expect(sizeBytes).toBe(source.get(name)?.sizeBytes)
      }
      await ctx.sessionPersistence.remove('a')
      expect(await ctx.sessionPersistence.verify('copied')).toMatchObject({ kind: 'intact' })
      const known = ({ seq, type, data }: AnySessionEvent): unknown => ({ seq, type, data })
      const [one, other] = [await wholeHistory(ctx, 'linked'), await wholeHistory(ctx, 'copied')]
      expect(other.slice(0, -1).map(known)).toEqual(one.slice(0, -1).map(known))
    },
  )

  it('is not copied where a link fails for another reason: the fork is refused, and leaves nothing', async () => {
    const root = scratch()
    await stored(root, 30, family)
    const before = readdirSync(join(root, 'sessions'))
    const link = (): Promise<void> => Promise.reject(systemError('EIO'))
    const ctx = await hostOn(new JournalStorage({ root, port: { ...systemPort, link } }))
    expect(await refusalOf(() => ctx.sessionPersistence.fork('a', { id: 'b' }))).toMatchObject({
      code: 'STORAGE_FAILED',
      cause: { code: 'EIO' },
    })
    expect(readdirSync(join(root, 'sessions'))).toEqual(before)
  })
})
