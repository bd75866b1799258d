import type { AnySessionEvent, SessionRecovered } from '@tidemark/session-core'
import { SessionError, turn } from '@tidemark/session-core'
import { lostMax, lostType, seqRangesMax, unprovenType } from '@tidemark/session-persistence'
import type { SalvagedRecord, SessionStorage } from '@tidemark/session-persistence'
import { hostname } from 'node:os'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { event, headerOf, seqsOf, upTo } from './batches.ts'
import { hostWith } from './foreign-host.ts'
import { reported, say, textsOf } from './host.ts'
import { codeOf, refusalOf } from './refusal.ts'

const record: SessionRecovered = {
  reason: 'accepted',
  segment: '000001-000.jsonl',
  offset: 900,
  sizeBytes: 12,
  digest: 'd'.repeat(64),
  lastSeq: 4,
  durableSeq: 9,
  evidence: 'head',
}

describe('verify', () => {
  it('says what the storage found, of a living session too, and is asked for by its name', async () => {
    const asked: string[] = []
    const ctx = await hostWith({}, { authorize: 'required' })
    ctx.on('tidemark/authorize', (request) => {
      asked.push(request.operation)
      request.allow()
    })
    const session = await ctx.sessionPersistence.create({ id: 'a', as: 'me' })
    say(session, 'one')
    const { digest } = await ctx.sessions.flush(session)
    const intact = { kind: 'intact', tail: { seq: 0, digest }, durable: 0 }
    expect(await ctx.sessionPersistence.verify('a', { as: 'me' })).toEqual(intact)
    expect(asked).toEqual(['create', 'create', 'flush', 'verify'])
    expect(await codeOf(() => ctx.sessionPersistence.verify('b', { as: 'me' }))).toBe('NOT_FOUND')
    expect(await codeOf(() => ctx.sessionPersistence.verify('', { as: 'me' }))).toBe('INVALID_ID')
  })

  it('hands on damage as it is told', async () => {
    const damage = { kind: 'damaged', code: 'CORRUPT', reason: 'line 7', intactThrough: 4 } as const
    const ctx = await hostWith({ verify: async () => damage })
    expect(await ctx.sessionPersistence.verify('a')).toEqual(damage)
  })
})

describe('repair', () => {
  const repair = vi.fn<NonNullable<SessionStorage['repair']>>()
  beforeEach(() => {
    repair.mockReset()
    repair.mockResolvedValue(record)
  })

  it('asks the storage, and gives its record', async () => {
    const ctx = await hostWith({ repair })
    expect(await ctx.sessionPersistence.repair('a', { acceptLossAfter: 4 })).toEqual(record)
    const claim = { incarnation: expect.any(String) as string, enabledBy: 'config' }
    expect(repair).toHaveBeenLastCalledWith('a', { claim, acceptLossAfter: 4 })
    await ctx.sessionPersistence.repair('a', { acceptLossAfter: -1, force: true })
    expect(repair).toHaveBeenLastCalledWith('a', {
      claim: { ...claim, incarnation: expect.any(String) as string },
      acceptLossAfter: -1,
      force: true,
    })
  })

  it('of a session that lives in this process is LOCKED', async () => {
    const ctx = await hostWith({ repair })
    await ctx.sessionPersistence.create({ id: 'a' })
    const refusal = await refusalOf(() =>
      ctx.sessionPersistence.repair('a', { acceptLossAfter: 0, force: true }),
    )
    expect(refusal).toMatchObject({
      code: 'LOCKED',
      details: { holder: { pid: process.pid, host: hostname() } },
    })
    expect(repair).not.toHaveBeenCalled()
  })

  it.each([-2, 0.5, Number.NaN, undefined, '4'])(
    'with a loss after %j is refused',
    async (acceptLossAfter) => {
      const ctx = await hostWith({ repair })
      const request = { acceptLossAfter } as { acceptLossAfter: number }
      expect(await codeOf(() => ctx.sessionPersistence.repair('a', request))).toBe('INVALID_SEQ')
      expect(repair).not.toHaveBeenCalled()
    },
  )

  it('is refused by a storage that has none, and nothing is claimed', async () => {
    const acquire = vi.fn()
    const ctx = await hostWith({ acquire })
    expect(await codeOf(() => ctx.sessionPersistence.repair('a', { acceptLossAfter: 0 }))).toBe('DISABLED')
    expect(acquire).not.toHaveBeenCalled()
  })

  it('is refused in the storage’s own terms, and in our words of a missing id', async () => {
    const ctx = await hostWith({ repair })
    const asked = () => ctx.sessionPersistence.repair('a', { acceptLossAfter: 0 })
    repair.mockRejectedValueOnce(new SessionError('INVALID_SEQ', 'no batch ends there'))
    expect(await codeOf(asked)).toBe('INVALID_SEQ')
    repair.mockRejectedValueOnce(new SessionError('NOT_FOUND', 'no row 7', { row: 7 }))
    expect((await refusalOf(asked)).details).toEqual({ sessionId: 'a' })
  })
})

describe('salvage', () => {
  const parts = (text: string) => ({ parts: [{ type: 'text', text, author: 'human' }] })
  const message = (seq: number, text = `text ${seq}`): AnySessionEvent =>
    event(seq, parts(text), { type: 'user/message' })
  const proven = (...seqs: readonly number[]): SalvagedRecord[] =>
    seqs.map((seq) => ({ event: message(seq), isProven: true }))
  const unproven = (...seqs: readonly number[]): SalvagedRecord[] =>
    seqs.map((seq) => ({ event: message(seq), isProven: false }))

  const hostOf = (records: readonly SalvagedRecord[], more: object = {}) => {
    const found = async function* () {
      yield* records
    }
    return hostWith({ salvage: async () => ({ records: found(), ...more }) })
  }

  it('makes a stored session of what is left, at the old seqs, with something in the place of what is lost', async () => {
    const ctx = await hostOf([...proven(0, 1, 4), ...unproven(5, 6, 9)])
    const salvaged = await ctx.sessionPersistence.salvage('a', { id: 's' })
    expect(salvaged).toMatchObject({
      header: { id: 's', salvaged: { id: 'a', lost: 4, unproven: 3 } },
      kept: 6,
      lost: {
        count: 4,
        ranges: [
          { from: 2, through: 3 },
          { from: 7, through: 8 },
        ],
      },
      unproven: {
        count: 3,
        ranges: [
          { from: 5, through: 6 },
          { from: 9, through: 9 },
        ],
      },
      leftOut: 0,
    })
    expect(ctx.sessions.find('s')).toBe(undefined)
    const view = await ctx.sessionPersistence.inspect('s')
    expect(view.header).toEqual(salvaged.header)
    expect(seqsOf([...view.log])).toEqual(upTo(10))
    expect(textsOf(view)).toEqual([0, 1, 4, 5, 6, 9].map((seq) => `text ${seq}`))
    const { createdAt: time } = salvaged.header
    expect(view.log.at(2)).toEqual({ seq: 2, time, type: lostType, data: {}, ignorable: true })
    expect(view.log.at(4)).toEqual(message(4))
    expect(view.boundarySeq).toBe(undefined)
  })

  it('gives a session that is resumed like any other, and listed with its mark', async () => {
    const opened = { event: event(1, {}, { type: 'turn/start' }), isProven: true }
    const ctx = await hostOf([opened, ...proven(3)])
    const { header } = await ctx.sessionPersistence.salvage('a')
    const session = await ctx.sessionPersistence.resume(header.id)
    expect(session.boundarySeq).toBe(4)
    expect(session.open(turn)).toMatchObject([{ seq: 1, status: 'orphaned' }])
    say(session, 'on')
    expect((await ctx.sessions.flush(session)).durableSeq).toBe(5)
    const { sessions } = await ctx.sessionPersistence.list()
    expect(sessions).toMatchObject([
      { id: header.id, status: 'ok', lastSeq: 5, header: { salvaged: { id: 'a', lost: 2, unproven: 0 } } },
    ])
    const fork = await ctx.sessionPersistence.fork(session, { id: 'c' })
    expect([fork.header.salvaged, fork.header.parent]).toEqual([header.salvaged, { id: header.id, seq: 5 }])
    const empty = await ctx.sessionPersistence.fork(session, { id: 'd', through: 0 })
    expect(empty.header.salvaged).toEqual(header.salvaged)
  })

  it('keeps what the damaged header says of the seqs, and the host’s own, unless the caller says other', async () => {
    const header = headerOf('a', { meta: { cwd: 'w' }, parent: { id: 'p', seq: 3 }, forkedAt: [3] })
    const ctx = await hostOf(proven(0), { header })
    const first = await ctx.sessionPersistence.salvage('a', { id: 's' })
    expect(first.header).toMatchObject({
      id: 's',
      meta: { cwd: 'w' },
      parent: { id: 'p', seq: 3 },
      forkedAt: [3],
    })
    expect(first.header.createdAt).not.toBe(header.createdAt)
    const second = await ctx.sessionPersistence.salvage('a', { id: 't', meta: { x: 1 } })
    expect(second.header.meta).toEqual({ x: 1 })
  })

  it('leaves out what core would refuse in a history, so that the rest can be resumed', async () => {
    const bad = (more: object): SalvagedRecord => ({ event: { ...message(2), ...more }, isProven: false })
    const wrong = [
      bad({ seq: -1 }),
      bad({ seq: 1.5 }),
      bad({ seq: '2' }),
      bad({ seq: 2 ** 60 }),
      bad({ time: null }),
      bad({ type: '' }),
      bad({ type: 7 }),
      bad({ data: undefined }),
      bad({ data: { n: -0 }, type: 'x/y', ignorable: true }),
      bad({ data: { parts: 'text' } }),
      bad({ ignorable: 1 }),
      bad({ replaces: false }),
      bad({ data: { parts: [{ type: 'text', text: 'x'.repeat(9_000_000), author: 'human' }] } }),
    ]
    const ctx = await hostOf([...proven(0, 1), ...wrong, ...proven(3)])
    const salvaged = await ctx.sessionPersistence.salvage('a', { id: 's' })
    expect(salvaged).toMatchObject({ kept: 3, leftOut: wrong.length, unproven: { count: 0, ranges: [] } })
    expect(salvaged.lost).toEqual({ count: 1, ranges: [{ from: 2, through: 2 }] })
    expect((await ctx.sessionPersistence.resume('s')).log.length).toBe(5)
  })

  it('G24: a proven event wins over unproven ones before it that take its place', async () => {
    const ctx = await hostOf([...proven(0), ...unproven(1, 7, 9), ...proven(2, 3)])
    const salvaged = await ctx.sessionPersistence.salvage('a', { id: 's' })
    expect(salvaged).toMatchObject({ kept: 4, leftOut: 2, lost: { count: 0 }, unproven: { count: 1 } })
    expect(textsOf(await ctx.sessionPersistence.inspect('s'))).toEqual(upTo(4).map((seq) => `text ${seq}`))
  })

  it('what is not proven, of a type that nobody here defines, stands as something that anybody can carry', async () => {
    const strange = { ...message(1), type: 'compact/enf', replaces: true } as const
    const ctx = await hostOf([...proven(0), { event: strange, isProven: false }, ...proven(2)])
    const salvaged = await ctx.sessionPersistence.salvage('a', { id: 's' })
    expect(salvaged).toMatchObject({ kept: 3, unproven: { ranges: [{ from: 1, through: 1 }] } })
    const session = await ctx.sessionPersistence.resume('s')
    const { seq, time, ...event } = strange
    expect(session.log.at(1)).toEqual({ seq, time, type: unprovenType, data: { event }, ignorable: true })
    const sure = await hostOf([{ event: strange, isProven: true }])
    await sure.sessionPersistence.salvage('a', { id: 's' })
    expect(await codeOf(() => sure.sessionPersistence.inspect('s'))).toBe('UNKNOWN_TYPE')
  })

  it('of a log that was salvaged before counts what was lost then, and names every source', async () => {
    const gone = (seq: number): SalvagedRecord => ({
      event: event(seq, {}, { type: lostType, ignorable: true }),
      isProven: true,
    })
    const doubt: SalvagedRecord = {
      event: event(5, { event: {} }, { type: unprovenType, ignorable: true }),
      isProven: true,
    }
    const salvagedBefore = {
      id: 'first',
      lost: 1,
      unproven: 4,
      earlier: [{ id: 'zeroth', lost: 0, unproven: 0 }],
    }
    const header = headerOf('a', { salvaged: salvagedBefore })
    const ctx = await hostOf([...proven(0), gone(1), ...proven(3, 4), doubt], { header })
    const { kept, lost, header: own } = await ctx.sessionPersistence.salvage('a', { id: 's' })
    expect([kept, lost]).toEqual([4, { count: 2, ranges: [{ from: 1, through: 2 }] }])
    expect(own.salvaged).toEqual({
      id: 'a',
      lost: 2,
      unproven: 1,
      earlier: [
        { id: 'first', lost: 1, unproven: 4 },
        { id: 'zeroth', lost: 0, unproven: 0 },
      ],
    })
  })

  it('leaves out what does not come after the record before it', async () => {
    const ctx = await hostOf([...proven(0, 2), ...unproven(2, 1, 0), ...proven(3)])
    const salvaged = await ctx.sessionPersistence.salvage('a', { id: 's' })
    expect(salvaged).toMatchObject({ kept: 3, leftOut: 3, lost: { count: 1 } })
    expect(textsOf(await ctx.sessionPersistence.inspect('s'))).toEqual(['text 0', 'text 2', 'text 3'])
  })

  it('one wild seq does not become a million events: what would lose more is left out', async () => {
    const wild = [...unproven(lostMax + 2), ...proven(1), ...unproven(lostMax + 3), ...proven(4)]
    const ctx = await hostOf([...proven(0), ...wild])
    const salvaged = await ctx.sessionPersistence.salvage('a', { id: 's' })
    expect(salvaged).toMatchObject({ kept: 3, leftOut: 2, lost: { count: 2 } })
    expect((await ctx.sessionPersistence.inspect('s')).log.length).toBe(5)
  })

  it('as many as may be lost are lost, and one more is not', async () => {
    let counted = 0
    const create: SessionStorage['create'] = async (_header, { seed = [] }) => {
      counted = 0
      for (const _ of seed) counted += 1
      throw new SessionError('SEALED', 'only counted')
    }
    for (const [from, count] of [
      [lostMax, lostMax + 1],
      [lostMax + 1, 1],
    ] as const) {
      const records = [...proven(from), ...(count === 1 ? proven(lostMax + 2) : []), ...proven(0)]
      const found = async function* () {
        yield* records
      }
      const ctx = await hostWith({ create, salvage: async () => ({ records: found() }) })
      expect(await codeOf(() => ctx.sessionPersistence.salvage('a'))).toBe('SEALED')
      expect(counted).toBe(count)
    }
  })

  it('names the first ranges, and counts the rest', async () => {
    const seqs = upTo(seqRangesMax + 2).map((index) => 2 * index + 1)
    const ctx = await hostOf(unproven(...seqs))
    const { lost, unproven: doubtful } = await ctx.sessionPersistence.salvage('a')
    for (const { count, ranges } of [lost, doubtful]) {
      expect([count, ranges.length]).toEqual([seqRangesMax + 2, seqRangesMax])
      expect(ranges.every(({ from, through }) => from === through)).toBe(true)
    }
  })

  it('of a log of which nothing is left is CORRUPT, and nothing is created', async () => {
    const ctx = await hostOf([{ event: { ...message(0), type: '' }, isProven: true }])
    expect(await codeOf(() => ctx.sessionPersistence.salvage('a', { id: 's' }))).toBe('CORRUPT')
    expect((await ctx.sessionPersistence.list()).sessions).toEqual([])
  })

  it('into an id that is taken is EXISTS, whoever has it', async () => {
    const ctx = await hostOf(proven(0))
    await ctx.sessions.dispose(await ctx.sessionPersistence.create({ id: 'a' }))
    ctx.sessions.create({ id: 'memory' })
    for (const id of ['a', 'memory'])
      expect(await codeOf(() => ctx.sessionPersistence.salvage('a', { id }))).toBe('EXISTS')
    expect(await codeOf(() => ctx.sessionPersistence.salvage('a', { id: '' }))).toBe('INVALID_ID')
    expect(await codeOf(() => ctx.sessionPersistence.salvage('a', { meta: { x: 1n } as never }))).toBe(
      'INVALID_PAYLOAD',
    )
  })

  it('G24: does not touch its source, which may live here', async () => {
    const ctx = await hostOf(proven(0))
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    say(session, 'one')
    await ctx.sessions.flush(session)
    await ctx.sessionPersistence.salvage('a', { id: 's' })
    say(session, 'two')
    expect((await ctx.sessions.flush(session)).durableSeq).toBe(1)
  })

  it('releases its lease, and stands although that fails', async () => {
    const release = vi.fn(async () => {
      throw new SessionError('STORAGE_FAILED', 'closing failed')
    })
    const records = proven(0)
    const found = async function* () {
      yield* records
    }
    const ctx = await hostWith({
      salvage: async () => ({ records: found() }),
      create: async (header) => ({
        header,
        epoch: 1,
        tail: { seq: 0, digest: 'd' },
        release,
        append: async () => Promise.reject(new SessionError('FENCED', 'unused')),
      }),
    })
    expect((await ctx.sessionPersistence.salvage('a')).kept).toBe(1)
    expect(release).toHaveBeenCalledOnce()
    expect(reported(ctx)).toMatchObject([{ code: 'STORAGE_FAILED' }])
  })

  it('is refused by a storage that has none', async () => {
    const ctx = await hostWith({})
    expect(await codeOf(() => ctx.sessionPersistence.salvage('a'))).toBe('DISABLED')
  })

  it('fails as its storage does, in the middle too, and then there is no session', async () => {
    const found = async function* () {
      yield* proven(0)
      throw new SessionError('STORAGE_FAILED', 'EIO')
    }
    const ctx = await hostWith({ salvage: async () => ({ records: found() }) })
    expect(await codeOf(() => ctx.sessionPersistence.salvage('a', { id: 's' }))).toBe('STORAGE_FAILED')
    expect((await ctx.sessionPersistence.list()).sessions).toEqual([])
  })
})

describe('remove', () => {
  const remove = vi.fn<SessionStorage['remove']>()
  beforeEach(() => {
    remove.mockReset()
    remove.mockResolvedValue(undefined)
  })

  it('asks the storage, which refuses a holder that lives unless it is forced', async () => {
    const ctx = await hostWith({ remove })
    await ctx.sessionPersistence.remove('a')
    expect(remove).toHaveBeenLastCalledWith('a', { unlessHeld: true })
    await ctx.sessionPersistence.remove('a', { force: true })
    expect(remove).toHaveBeenLastCalledWith('a', { unlessHeld: false })
    remove.mockRejectedValueOnce(new SessionError('NOT_FOUND', 'no row 7', { row: 7 }))
    expect((await refusalOf(() => ctx.sessionPersistence.remove('a'))).details).toEqual({ sessionId: 'a' })
    expect(await codeOf(() => ctx.sessionPersistence.remove(''))).toBe('INVALID_ID')
  })

  it('of a session that lives in this process is LOCKED; forced, that one is fenced and its id is free', async () => {
    const ctx = await hostWith({})
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    say(session, 'one')
    await ctx.sessions.flush(session)
    expect(await codeOf(() => ctx.sessionPersistence.remove('a'))).toBe('LOCKED')
    await ctx.sessionPersistence.remove('a', { force: true })
    expect(await codeOf(() => ctx.sessionPersistence.inspect('a'))).toBe('NOT_FOUND')
    say(session, 'two')
    expect(await codeOf(() => ctx.sessions.flush(session))).toBe('FENCED')
    await ctx.sessions.dispose(session)
    await ctx.sessions.dispose(await ctx.sessionPersistence.create({ id: 'a' }))
    await ctx.sessionPersistence.remove('a')
    expect((await ctx.sessionPersistence.list()).sessions).toEqual([])
  })
})

describe('who may', () => {
  it('is asked first, for each by its name, and a no is NOT_FOUND whatever the storage can', async () => {
    const asked: unknown[] = []
    const storage = { repair: vi.fn(), salvage: vi.fn(), verify: vi.fn(), remove: vi.fn() }
    const ctx = await hostWith(storage, { authorize: 'required' })
    ctx.on('tidemark/authorize', ({ operation, sessionId, childId }) => {
      asked.push([operation, sessionId, childId])
    })
    const as = 'me'
    for (const ask of [
      () => ctx.sessionPersistence.verify('a', { as }),
      () => ctx.sessionPersistence.repair('a', { acceptLossAfter: 0, as }),
      () => ctx.sessionPersistence.salvage('a', { id: 's', as }),
      () => ctx.sessionPersistence.remove('a', { force: true, as }),
    ])
      expect(await codeOf(ask)).toBe('NOT_FOUND')
    expect(asked).toEqual([
      ['verify', 'a', undefined],
      ['repair', 'a', undefined],
      ['salvage', 'a', 's'],
      ['remove', 'a', undefined],
    ])
    for (const call of Object.values(storage)) expect(call).not.toHaveBeenCalled()
    const without = await hostWith({}, { authorize: 'required' })
    expect(await codeOf(() => without.sessionPersistence.salvage('a', { as }))).toBe('NOT_FOUND')
  })
})
