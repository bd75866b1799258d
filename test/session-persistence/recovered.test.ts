import { turn, type SessionRecovered } from '@tidemark/session-core'
import type { Lease, SessionStorage } from '@tidemark/session-persistence'
import { MemoryStorage } from '@tidemark/session-persistence/memory'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it } from 'vitest'
import { newClaim, upTo } from './batches.ts'
import { altered, hostWith } from './foreign-host.ts'
import { load, reported, say, typesOf } from './host.ts'
import { codeOf } from './refusal.ts'

const record = (offset: number): SessionRecovered => ({
  reason: 'torn',
  segment: '000001-000.jsonl',
  offset,
  sizeBytes: 40,
  digest: 'd'.repeat(64),
  lastSeq: 0,
  durableSeq: 0,
  evidence: 'head',
})
const records = [record(100), record(200)]

/** Of a storage that gives its records with every lease until one of them stands in the log, as a real one does. */
const acquire: SessionStorage['acquire'] = async function (this: MemoryStorage, ...args) {
  const lease: Lease = await MemoryStorage.prototype.acquire.apply(this, args)
  const { batches } = await this.read(args[0])
  for await (const { events } of batches)
    if (events.some(({ type }) => type === 'session/recovered')) return lease
  return altered(lease, { recovered: records })
}

let ctx: Context
beforeEach(async () => {
  ctx = await hostWith({ acquire })
  const session = await ctx.sessionPersistence.create({ id: 'a' })
  session.append('turn/start', {})
  await ctx.sessions.dispose(session)
})

const storedTypes = async (id = 'a'): Promise<string[]> => typesOf(await ctx.sessionPersistence.inspect(id))

describe('a session that was recovered', () => {
  it('says so in its log before the boundary, and on the bus after it exists', async () => {
    const told: unknown[] = []
    ctx.on('tidemark/created', ({ id }) => void told.push(`created ${id}`))
    ctx.on('tidemark/recovered', (session, found) => {
      expect(ctx.sessions.find('a')).toBe(session)
      told.push(found)
    })
    ctx.on('tidemark/event', (_session, { type }) => void told.push(type))
    const session = await ctx.sessionPersistence.resume('a')
    expect(told).toEqual(['created a', ...records])
    expect(typesOf(session)).toEqual([
      'turn/start',
      'session/recovered',
      'session/recovered',
      'session/resumed',
    ])
    expect([1, 2].map((seq) => session.log.at(seq).data)).toEqual(records)
    expect(session.open(turn)).toMatchObject([{ status: 'orphaned' }])
  })

  it('G18: leaves no mark while nothing else is written, and tells again until something is', async () => {
    let told = 0
    ctx.on('tidemark/recovered', () => void (told += 1))
    for (const round of [1, 2]) {
      const session = await ctx.sessionPersistence.resume('a')
      const receipt = await ctx.sessions.flush(session)
      expect(receipt).toMatchObject({ kind: 'stored', durableSeq: 0 })
      await new Promise((resolve) => setTimeout(resolve, 20))
      expect(session.durableSeq).toBe(0)
      await ctx.sessions.dispose(session)
      expect(await storedTypes()).toEqual(['turn/start'])
      expect(told).toBe(round * records.length)
    }
    const session = await ctx.sessionPersistence.resume('a')
    say(session, 'on')
    expect((await ctx.sessions.flush(session)).durableSeq).toBe(4)
    await ctx.sessions.dispose(session)
    expect(await storedTypes()).toEqual([
      'turn/start',
      'session/recovered',
      'session/recovered',
      'session/resumed',
      'user/message',
    ])
    told = 0
    expect(typesOf(await ctx.sessionPersistence.resume('a')).slice(-1)).toEqual(['session/resumed'])
    expect(told).toBe(0)
  })

  it('is forked without what it has not written', async () => {
    const parent = await ctx.sessionPersistence.resume('a')
    const child = await ctx.sessionPersistence.fork(parent, { id: 'c' })
    expect(child.header.parent).toEqual({ id: 'a', seq: 0 })
    expect(await storedTypes('c')).toEqual(['turn/start', 'session/resumed'])
    expect(await storedTypes()).toEqual(['turn/start'])
    const cut = await ctx.sessionPersistence.fork(parent, { id: 'd', through: 2 })
    expect(cut.header.parent).toEqual({ id: 'a', seq: 0 })
  })

  it('is resumed although a listener throws', async () => {
    ctx.on('tidemark/recovered', () => {
      throw new TypeError('listener')
    })
    const heard: unknown[] = []
    ctx.on('tidemark/recovered', (_session, found) => void heard.push(found))
    await ctx.sessionPersistence.resume('a')
    expect(heard).toEqual(records)
    expect(reported(ctx)).toHaveLength(2)
  })

  it('belongs to the plugin that resumed it', async () => {
    const told: string[] = []
    ctx.on('tidemark/recovered', ({ id }) => void told.push(`recovered ${id}`))
    ctx.on('tidemark/disposed', ({ id }) => void told.push(`disposed ${id}`))
    const guest = await load(ctx, ['sessionPersistence'], (inner) => inner.sessionPersistence.resume('a'))
    await guest.dispose()
    expect(told).toEqual(['recovered a', 'recovered a', 'disposed a'])
    expect(await storedTypes()).toEqual(['turn/start'])
  })
})

describe('a session that another process holds', () => {
  const holder = { pid: 4_711, host: 'desk', startedAt: 1_764_000_000_000 }
  const locked = async (): Promise<{ ctx: Context; forced: (boolean | undefined)[] }> => {
    const { SessionError } = await import('@tidemark/session-core')
    const forced: (boolean | undefined)[] = []
    const held: SessionStorage['acquire'] = async function (this: MemoryStorage, id, terms) {
      forced.push(terms.force)
      if (!terms.force) throw new SessionError('LOCKED', `${id}: held`, { sessionId: id, holder })
      return MemoryStorage.prototype.acquire.call(this, id, terms)
    }
    const host = await hostWith({ acquire: held })
    await (await host.sessionStorage.create({ id: 'a', createdAt: 0 }, { claim: newClaim() })).release()
    return { ctx: host, forced }
  }

  it('B10: is LOCKED, by whom the error says, and nothing of the resume is left', async () => {
    const { ctx: host } = await locked()
    for (const force of [undefined, false]) {
      const asked = host.sessionPersistence.resume('a', force === undefined ? {} : { force })
      await expect(asked).rejects.toMatchObject({ code: 'LOCKED', details: { holder } })
    }
    expect([...host.sessions]).toEqual([])
  })

  it('is taken over when the caller forces it', async () => {
    const { ctx: host, forced } = await locked()
    const session = await host.sessionPersistence.resume('a', { force: true })
    say(session, 'mine')
    expect((await host.sessions.flush(session)).durableSeq).toBe(1)
    expect(forced).toEqual([true])
  })

  it('force takes nothing from this process', async () => {
    const { ctx: host } = await locked()
    await host.sessionPersistence.resume('a', { force: true })
    expect(await codeOf(() => host.sessionPersistence.resume('a', { force: true }))).toBe('LOCKED')
  })
})

it('an event of a recovery that a host appends by itself is refused', async () => {
  const session = await ctx.sessionPersistence.resume('a')
  expect(await codeOf(() => session.append('session/recovered', record(1)))).toBe('RESERVED')
  expect(session.log.length).toBe(upTo(4).length)
})
