import {
  append,
  appendNext,
  batchesOf,
  events,
  headerOf,
  newClaim,
  readBack,
  seqsOf,
  upTo,
} from './batches.ts'
import type { Fact, Facts } from './fact.ts'
import { allRefused, codeOf } from './refusal.ts'

/** Every entry refuses what cannot be an id. */
function noId(name: string, id: unknown): Facts {
  const title = `M01: ${name} is no id, at every entry`
  const fact: Fact = async ({ storage, expect }) => {
    const bad = id as string
    const claim = newClaim()
    await storage.create(headerOf('good'), { claim })
    await allRefused(expect, 'INVALID_ID', {
      create: () => storage.create(headerOf(bad), { claim }),
      acquire: () => storage.acquire(bad, { claim }),
      read: () => storage.read(bad),
      'fork, as the source,': () => storage.fork({ id: bad, through: -1 }, headerOf('b'), claim),
      'fork, as the child,': () => storage.fork({ id: 'good', through: -1 }, headerOf(bad), claim),
      remove: () => storage.remove(bad),
      verify: () => storage.verify(bad),
    })
  }
  return { [title]: fact }
}

export const lifeFacts: Facts = {
  'a new session is empty, and its header comes back equal': async ({ storage, expect }) => {
    const header = headerOf('a', { meta: { title: 'ü', deep: [{ x: null }] }, forkedAt: [3] })
    const lease = await storage.create(header, { claim: newClaim() })
    expect(lease.header, 'the header of the lease').toEqual(header)
    expect(await readBack(storage, 'a'), 'what is read').toMatchObject({
      header,
      events: [],
      tail: lease.tail,
    })
    expect(lease.tail.seq, 'the tail of a lease of an empty log').toBe(-1)
  },

  'an id that is taken is refused, and the session under it does not change': async ({ storage, expect }) => {
    const claim = newClaim()
    await appendNext(await storage.create(headerOf('a'), { claim }), 3)
    const before = await readBack(storage, 'a')
    await allRefused(expect, 'EXISTS', {
      create: () => storage.create(headerOf('a', { createdAt: 2 }), { claim }),
    })
    expect(await readBack(storage, 'a'), 'the session that was there').toEqual(before)
  },

  'of many who create the same id at once, one succeeds': async ({ storage, expect }) => {
    const outcomes = await Promise.allSettled(
      upTo(8).map(() => storage.create(headerOf('a'), { claim: newClaim() })),
    )
    expect(
      outcomes.filter(({ status }) => status === 'fulfilled'),
      'those that succeed',
    ).toHaveLength(1)
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected')
        expect(outcome.reason, 'what the others are told').toMatchObject({ code: 'EXISTS' })
    }
  },

  'a session that does not exist is NOT_FOUND everywhere, and nothing is created by asking': async ({
    storage,
    expect,
  }) => {
    const claim = newClaim()
    await allRefused(expect, 'NOT_FOUND', {
      acquire: () => storage.acquire('a', { claim }),
      read: () => storage.read('a'),
      fork: () => storage.fork({ id: 'a', through: -1 }, headerOf('b'), claim),
      remove: () => storage.remove('a'),
      verify: () => storage.verify('a'),
    })
    expect(await storage.list({ countMax: 10 }), 'the list afterwards').toEqual({ sessions: [] })
  },

  ...noId('the empty text', ''),
  ...noId('a text of 201 characters', 'x'.repeat(201)),
  ...noId('a lone surrogate', 'a\ud800'),
  ...noId('nothing', undefined),
  ...noId('a number', 7),

  'a session begins with its seed, and goes on after it': async ({ storage, expect }) => {
    const lease = await storage.create(headerOf('a'), { claim: newClaim(), seed: events(0, 4) })
    expect(lease.tail.seq, 'the tail of the lease: the last of the seed').toBe(4)
    await appendNext(lease, 2)
    expect(seqsOf((await readBack(storage, 'a')).events)).toEqual(upTo(7))
  },

  'a seed with a gap or a late start is refused, and there is no session': async ({ storage, expect }) => {
    for (const seed of [events(1, 2), [...events(0, 1), ...events(3, 3)]]) {
      const create = () => storage.create(headerOf('a'), { claim: newClaim(), seed })
      await allRefused(expect, 'INVALID_SEED', { create })
      await allRefused(expect, 'NOT_FOUND', { 'read, afterwards,': () => storage.read('a') })
    }
  },

  'a removed session is gone, its lease is fenced, and its id is free': async ({ storage, expect }) => {
    const lease = await storage.create(headerOf('a'), { claim: newClaim() })
    await appendNext(lease)
    await storage.remove('a')
    await allRefused(expect, 'NOT_FOUND', { 'read, after the removal,': () => storage.read('a') })
    await allRefused(expect, 'FENCED', { 'append, after the removal,': () => appendNext(lease) })
    expect(await storage.list({ countMax: 10 }), 'the list after the removal').toEqual({ sessions: [] })
    await storage.create(headerOf('a'), { claim: newClaim() })
    await allRefused(expect, 'FENCED', { 'append, once the id is taken again,': () => appendNext(lease) })
    expect((await readBack(storage, 'a')).events, 'events of the new session').toEqual([])
  },

  'a sound session is verified with its tail, and nothing after it is called durable': async ({
    storage,
    expect,
  }) => {
    const lease = await storage.create(headerOf('a'), { claim: newClaim() })
    const first = await appendNext(lease, 3)
    await append(lease, events(3, 4))
    const verdict = await storage.verify('a')
    expect(verdict, 'the verdict').toMatchObject({ kind: 'intact', tail: lease.tail })
    const durable = verdict.kind === 'intact' ? verdict.durable : undefined
    // The second batch proves the first one, where anything is durable at all.
    if (storage.capabilities.isDurable)
      expect(durable, 'durable: the first batch at least').toBeGreaterThanOrEqual(first.tail.seq)
    expect(durable, 'durable: nothing after the tail').toBeLessThanOrEqual(lease.tail.seq)
  },

  'every batch before the last one is proven durable, also where the storage is not': async ({
    storage,
    expect,
  }) => {
    const lease = await storage.create(headerOf('a'), { claim: newClaim(), seed: events(0, 1) })
    for (let count = 1; count < 4; count++) await appendNext(lease, count)
    const durable = (await batchesOf(storage, 'a')).map(({ isDurable }) => isDurable)
    expect(durable.length, 'the batches: the seed, and three').toBeGreaterThan(3)
    expect(durable.slice(0, -1), 'isDurable of the batches before the last').toEqual(
      durable.slice(1).map(() => true),
    )
  },

  'a lease that is over can be released, its storage closed, and neither touches what came after it': async ({
    storage,
    expect,
  }) => {
    const claim = newClaim()
    const removed = await storage.create(headerOf('a'), { claim })
    await appendNext(removed)
    await storage.remove('a')
    await storage.create(headerOf('a'), { claim })
    await removed.release()
    expect((await readBack(storage, 'a')).events, 'the session after one that was removed').toEqual([])
    const fenced = await storage.create(headerOf('b'), { claim })
    await appendNext(fenced)
    await storage.acquire('b', { claim, force: true })
    await fenced.release()
    expect((await readBack(storage, 'b')).events, 'the session that was taken over').toHaveLength(1)
    await appendNext(await storage.create(headerOf('c'), { claim }))
    await storage.remove('c')
    await storage.create(headerOf('c'), { claim })
    await storage.close()
    await allRefused(expect, 'DISPOSED', { 'read, after the close,': () => storage.read('b') })
  },

  'a closed storage does nothing any more, and closing it again is fine': async ({ storage, expect }) => {
    const lease = await storage.create(headerOf('a'), { claim: newClaim() })
    await storage.close()
    await storage.close()
    const asked = {
      create: () => storage.create(headerOf('b'), { claim: newClaim() }),
      acquire: () => storage.acquire('a', { claim: newClaim() }),
      read: () => storage.read('a'),
      list: () => storage.list({ countMax: 1 }),
      remove: () => storage.remove('a'),
      verify: () => storage.verify('a'),
      append: () => appendNext(lease),
    }
    for (const [name, ask] of Object.entries(asked))
      expect(['DISPOSED', 'FENCED'], `how ${name} is refused`).toContain(await codeOf(ask, name))
  },
}
