import { createHash } from 'node:crypto'
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { defineBracket, type SessionRecovered } from '@tidemark/session-core'
import { JournalStorage, systemPort } from '@tidemark/session-persistence/journal'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { eventLines, folderOf, hashOf, readStored, segmentsOf, storedSeqs } from './files.ts'
import { load, reported, say, startJournal, textsOf, typesOf } from './host.ts'
import { append, event, headerOf, newClaim, upTo } from './batches.ts'
import { encodeEvent } from '@tidemark/session-persistence'
import { codeOf, refusalOf } from './refusal.ts'
import { scratch } from './scratch.ts'

let root: string
let ctx: Context
beforeEach(async () => {
  root = join(scratch(), 'root')
  ctx = await startJournal(root)
})

const closed = async (texts: readonly string[], id = 'a'): Promise<void> => {
  const session = await ctx.sessionPersistence.create({ id })
  for (const text of texts) say(session, text)
  await ctx.sessions.dispose(session)
}

describe('create and resume', () => {
  it('what was flushed is there again, with header, transcript and a boundary', async () => {
    const session = await ctx.sessionPersistence.create({ id: 'a', meta: { title: 'x' } })
    session.append('turn/start', {})
    say(session, 'one')
    expect(await ctx.sessions.flush(session)).toMatchObject({ kind: 'stored', durableSeq: 1 })
    expect(session.durableSeq).toBe(1)
    const before = { header: session.header, incarnation: session.incarnation }
    await ctx.sessions.dispose(session)
    const resumed = await ctx.sessionPersistence.resume('a')
    expect(resumed.header).toEqual(before.header)
    expect(typesOf(resumed)).toEqual(['turn/start', 'user/message', 'session/resumed'])
    expect(resumed.incarnation).not.toBe(before.incarnation)
    expect(resumed.durableSeq).toBe(1)
    const [first, , second] = await readStored(root, 'a')
    expect([first!.writer.incarnation, second!.writer.incarnation]).toEqual([
      before.incarnation,
      resumed.incarnation,
    ])
  })

  it('dispose writes what was not flushed', async () => {
    await closed(['one', 'two'])
    expect(textsOf(await ctx.sessionPersistence.inspect('a'))).toEqual(['one', 'two'])
  })

  it('an event is written by itself, soon', async () => {
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    const told = new Promise<number>((resolve) =>
      ctx.on('tidemark/durable', (of, seq) => void (of === session && resolve(seq))),
    )
    say(session, 'one')
    expect(await told).toBe(0)
    expect(await storedSeqs(root, 'a')).toEqual([0])
  })

  it('G6: an untouched reopen adds no boundary, however often', async () => {
    await closed(['one'])
    const before = eventLines(root, 'a')
    for (const _ of upTo(3)) {
      const session = await ctx.sessionPersistence.resume('a')
      expect(await ctx.sessions.flush(session)).toMatchObject({ kind: 'stored', durableSeq: 0 })
      await new Promise((resolve) => setTimeout(resolve, 15))
      await ctx.sessions.dispose(session)
    }
    expect(eventLines(root, 'a')).toEqual(before)
    const touched = await ctx.sessionPersistence.resume('a')
    say(touched, 'two')
    await ctx.sessions.dispose(touched)
    expect(typesOf(await ctx.sessionPersistence.inspect('a'))).toEqual([
      'user/message',
      'session/resumed',
      'user/message',
    ])
  })

  it('the boundary rides the first batch', async () => {
    await closed(['one'])
    const session = await ctx.sessionPersistence.resume('a')
    say(session, 'two')
    await ctx.sessions.flush(session)
    const batches = await readStored(root, 'a')
    expect(batches.at(-1)!.events.map(({ type }) => type)).toEqual(['session/resumed', 'user/message'])
  })

  it('an empty session gets a boundary once, when something follows it', async () => {
    await closed([])
    const session = await ctx.sessionPersistence.resume('a')
    expect(typesOf(session)).toEqual(['session/resumed'])
    await ctx.sessions.dispose(session)
    expect(await storedSeqs(root, 'a')).toEqual([])
  })

  it('an id that does not exist is NOT_FOUND, and nothing is created', async () => {
    await closed([])
    for (const ask of [() => ctx.sessionPersistence.resume('b'), () => ctx.sessionPersistence.inspect('b')]) {
      expect(await codeOf(ask)).toBe('NOT_FOUND')
    }
    expect((await ctx.sessionPersistence.list()).sessions.map(({ id }) => id)).toEqual(['a'])
  })

  it('B05: an id that exists is not created again, and its log does not change', async () => {
    await closed(['one', 'two'])
    const before = hashOf(root, 'a')
    expect(await codeOf(() => ctx.sessionPersistence.create({ id: 'a' }))).toBe('EXISTS')
    expect(hashOf(root, 'a')).toBe(before)
    const living = await ctx.sessionPersistence.resume('a')
    expect(await codeOf(() => ctx.sessionPersistence.create({ id: 'a' }))).toBe('EXISTS')
    expect(ctx.sessions.find('a')).toBe(living)
  })

  it('a session that lives here is locked, by this process', async () => {
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    const refusal = await refusalOf(() => ctx.sessionPersistence.resume('a'))
    expect(refusal).toMatchObject({
      code: 'LOCKED',
      details: { holder: { pid: process.pid, host: hostname() } },
    })
    say(session, 'one')
    await ctx.sessions.flush(session)
    ctx.sessions.create({ id: 'memory' })
    expect(await codeOf(() => ctx.sessionPersistence.resume('memory'))).toBe('LOCKED')
  })

  it('of two who resume at once in one process, one does, and the other is told LOCKED', async () => {
    await closed(['one'])
    const outcomes = await Promise.allSettled(upTo(4).map(() => ctx.sessionPersistence.resume('a')))
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'LOCKED' })
    say(ctx.sessions.find('a')!, 'two')
    await ctx.sessions.flush(ctx.sessions.find('a')!)
  })

  it('B10, G15: a session that another host has open is locked, by whom the error says', async () => {
    await closed(['one'])
    const other = await startJournal(root)
    const first = await ctx.sessionPersistence.resume('a')
    const refusal = await refusalOf(() => other.sessionPersistence.resume('a'))
    expect(refusal).toMatchObject({
      code: 'LOCKED',
      details: { holder: { pid: process.pid, host: hostname(), startedAt: expect.any(Number) as number } },
    })
    expect([...other.sessions]).toEqual([])
    say(first, 'from the first')
    expect((await ctx.sessions.flush(first)).durableSeq).toBe(2)
    await ctx.sessions.dispose(first)
    expect(textsOf(await other.sessionPersistence.resume('a'))).toEqual(['one', 'from the first'])
  })

  it('B02, G14: of two hosts, one takes over by force, and the other loses nothing that it was told', async () => {
    await closed(['one'])
    const other = await startJournal(root)
    const first = await ctx.sessionPersistence.resume('a')
    const second = await other.sessionPersistence.resume('a', { force: true })
    say(first, 'from the first')
    say(second, 'from the second')
    expect(await codeOf(() => ctx.sessions.flush(first))).toBe('FENCED')
    expect((await other.sessions.flush(second)).durableSeq).toBe(2)
    expect(await codeOf(() => say(first, 'again'))).toBe('FENCED')
    await ctx.sessions.dispose(first)
    await other.sessions.dispose(second)
    const view = await ctx.sessionPersistence.inspect('a')
    expect(textsOf(view)).toEqual(['one', 'from the second'])
    expect([...view.log].map(({ seq }) => seq)).toEqual(upTo(3))
  })

  it('K13, G5: a session is flushed before it goes, whoever goes', async () => {
    let session!: Awaited<ReturnType<typeof ctx.sessionPersistence.create>>
    const guest = await load(ctx, ['sessionPersistence'], async (inner) => {
      session = await inner.sessionPersistence.create({ id: 'a' })
    })
    say(session, 'one')
    await guest.dispose()
    expect(ctx.sessions.find('a')).toBe(undefined)
    expect(textsOf(await ctx.sessionPersistence.inspect('a'))).toEqual(['one'])
  })

  it('meta is what was given, and what JSON does not keep is refused', async () => {
    const meta = { list: [1], own: JSON.parse('{"__proto__":{"x":1}}') as object }
    const session = await ctx.sessionPersistence.create({ id: 'a', meta: meta as never })
    meta.list.push(2)
    expect(session.header.meta).toEqual({ list: [1], own: JSON.parse('{"__proto__":{"x":1}}') })
    for (const bad of [{ x: 1n }, { x: undefined }, { x: new Date() }]) {
      expect(await codeOf(() => ctx.sessionPersistence.create({ id: 'b', meta: bad as never }))).toBe(
        'INVALID_PAYLOAD',
      )
    }
    const large = { id: 'b', meta: { x: 'x'.repeat(300_000) } }
    expect(await codeOf(() => ctx.sessionPersistence.create(large))).toBe('INVALID_PAYLOAD')
    expect((await ctx.sessionPersistence.list()).sessions.map(({ id }) => id)).toEqual(['a'])
  })
})

describe('history that cannot be understood', () => {
  const pluginEvent = {
    'x/started': { schema: z.strictObject({}) },
    'x/ended': { schema: z.strictObject({}) },
  }
  const bracket = defineBracket({
    name: 'x',
    open: 'x/started' as never,
    close: 'x/ended' as never,
    scope: 'session',
  })

  const writeForeign = async (): Promise<string> => {
    const guest = await load(ctx, ['sessions'], (inner) =>
      inner.effect(() => inner.sessions.define({ owner: 'x', events: pluginEvent, brackets: [bracket] })),
    )
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    say(session, 'one')
    session.append('x/started' as never, {} as never)
    await ctx.sessions.dispose(session)
    await guest.dispose()
    return session.incarnation
  }

  it('I05, G4: an unknown type is named with its seq and its writer, and the refusal leaves no trace', async () => {
    const incarnation = await writeForeign()
    const before = hashOf(root, 'a')
    for (const ask of [
      () => ctx.sessionPersistence.resume('a'),
      () => ctx.sessionPersistence.inspect('a'),
      () => ctx.sessionPersistence.fork('a'),
    ]) {
      const refusal = await refusalOf(ask)
      expect(refusal).toMatchObject({ code: 'UNKNOWN_TYPE', details: { type: 'x/started', seq: 1 } })
      expect(refusal.details.writer).toContain(incarnation)
      expect(refusal.details.writer).toContain(String(process.pid))
    }
    expect(hashOf(root, 'a')).toBe(before)
    expect(ctx.sessions.find('a')).toBe(undefined)
  })

  it('G4: carried, it goes on, and the claim says what is carried', async () => {
    await writeForeign()
    const session = await ctx.sessionPersistence.resume('a', { carry: ['x/started'] })
    say(session, 'two')
    await ctx.sessions.dispose(session)
    const view = await ctx.sessionPersistence.inspect('a', { carry: ['x/started'] })
    expect(typesOf(view)).toEqual(['user/message', 'x/started', 'session/resumed', 'user/message'])
    expect((await readStored(root, 'a')).at(-1)!.writer.carry).toEqual(['x/started'])
  })

  it('a type that replaces is never carried', async () => {
    const storage = new JournalStorage({ root, port: systemPort })
    const lease = await storage.create(headerOf('a'), { claim: newClaim() })
    await append(lease, [encodeEvent(event(0, {}, { type: 'x/replaced', replaces: true }))])
    await storage.close()
    const before = hashOf(root, 'a')
    expect(await codeOf(() => ctx.sessionPersistence.resume('a', { carry: ['x/replaced'] }))).toBe(
      'UNKNOWN_TYPE',
    )
    expect(hashOf(root, 'a')).toBe(before)
  })

  it('a log that somebody goes on with between reading and claiming is read again', async () => {
    await closed(['one'])
    const storage = ctx.sessionStorage
    const { acquire } = storage
    storage.acquire = async (id, terms) => {
      const lease = await acquire.call(storage, id, { claim: newClaim() })
      const text = { parts: [{ type: 'text', text: 'between', author: 'human' }] }
      await append(lease, [encodeEvent(event(1, text, { type: 'user/message' }))])
      await lease.release()
      return acquire.call(storage, id, terms)
    }
    const session = await ctx.sessionPersistence.resume('a')
    expect(textsOf(session)).toEqual(['one', 'between'])
    say(session, 'two')
    expect((await ctx.sessions.flush(session)).durableSeq).toBe(3)
  })
})

describe('history that is damaged', () => {
  it('C01, G20: a bad line 40 of 100 is named, and no part of the log is given out', async () => {
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    for (const index of upTo(100)) {
      say(session, `text ${index}`)
      if (index % 10 === 9) await ctx.sessions.flush(session)
    }
    await ctx.sessions.dispose(session)
    const [{ path, lines }] = segmentsOf(root, 'a') as [ReturnType<typeof segmentsOf>[0]]
    const at = lines.findIndex((line) => line.startsWith('{"seq":39,'))
    writeFileSync(path, [...lines.with(at, lines[at]!.slice(0, 50)), ''].join('\n'))
    const before = hashOf(root, 'a')
    for (const ask of [() => ctx.sessionPersistence.resume('a'), () => ctx.sessionPersistence.inspect('a')]) {
      const refusal = await refusalOf(ask)
      const details = { segment: '000001-000.jsonl', line: at + 1, intactThrough: 29 }
      expect(refusal).toMatchObject({ code: 'CORRUPT', details })
    }
    expect(hashOf(root, 'a')).toBe(before)
  })

  it('C02, G20: a damaged header refuses the session, and the file stays as it is', async () => {
    await closed(upTo(100).map((index) => `text ${index}`))
    const [{ path }] = segmentsOf(root, 'a') as [ReturnType<typeof segmentsOf>[0]]
    const content = readFileSync(path)
    content[60]! ^= 4
    writeFileSync(path, content)
    const before = hashOf(root, 'a')
    expect(await refusalOf(() => ctx.sessionPersistence.resume('a'))).toMatchObject({
      code: 'CORRUPT',
      details: { segment: '000001-000.jsonl', offset: 0, line: 1 },
    })
    expect(await codeOf(() => ctx.sessionPersistence.create({ id: 'a' }))).toBe('EXISTS')
    expect(hashOf(root, 'a')).toBe(before)
  })

  /** Puts bytes after the last batch, as a crash or a foreign hand leaves them. */
  const leave = (tail: Buffer): Buffer => {
    const [{ path }] = segmentsOf(root, 'a') as [ReturnType<typeof segmentsOf>[0]]
    const content = readFileSync(path)
    writeFileSync(path, Buffer.concat([content, tail]))
    return content
  }

  it.each([
    ['A01', 'a stub without its end', Buffer.from('{"seq":1,"time":17')],
    ['A04', 'NUL bytes', Buffer.alloc(512)],
    ['A07', 'half a character', Buffer.from('{"seq":1,"time":1,"type":"\u4e2d').subarray(0, -1)],
    ['A07', 'a whole event without its commit', Buffer.from('{"seq":1,"time":1,"type":"a/b","data":{}}')],
  ])('%s, G18: %s at the end is set aside, and what was set aside is told', async (_id, _what, tail) => {
    await closed(['one'])
    const content = leave(tail)
    const rest = { kind: 'torn', segment: '000001-000.jsonl', offset: content.length, sizeBytes: tail.length }
    const before = hashOf(root, 'a')
    const view = await ctx.sessionPersistence.inspect('a')
    expect([textsOf(view), view.durableSeq, view.rest]).toEqual([['one'], 0, rest])
    expect(await ctx.sessionPersistence.verify('a')).toMatchObject({ kind: 'unfinished', rest, durable: 0 })
    expect(await ctx.sessionPersistence.list()).toMatchObject({ sessions: [{ id: 'a', status: 'ok' }] })
    expect(hashOf(root, 'a')).toBe(before)
    const told: SessionRecovered[] = []
    ctx.on('tidemark/recovered', (_session, record) => void told.push(record))
    const session = await ctx.sessionPersistence.resume('a')
    say(session, 'two')
    await ctx.sessions.dispose(session)
    const digest = createHash('sha256').update(tail).digest('hex')
    const found = { segment: '000001-000.jsonl', offset: content.length, sizeBytes: tail.length, digest }
    expect(told).toMatchObject([{ ...found, lastSeq: 0, durableSeq: 0 }])
    const again = await ctx.sessionPersistence.inspect('a')
    expect([...again.log].map(({ type }) => type)).toEqual([
      'user/message',
      'session/recovered',
      'session/resumed',
      'user/message',
    ])
    expect([again.log.at(1).data, again.rest]).toEqual([told[0], undefined])
    expect(await ctx.sessionPersistence.verify('a')).toMatchObject({ kind: 'intact', durable: 3 })
  })

  it.each([
    ['A09', 'two glued events', Buffer.from('{"seq":1}{"seq":2}\n')],
    ['A12', 'the end of an older content', Buffer.from('ord","data":{}}\n')],
  ])('%s: %s at the end may be either, is refused, and kept', async (_id, _what, tail) => {
    await closed(['one'])
    const content = leave(tail)
    const refusal = await refusalOf(() => ctx.sessionPersistence.resume('a'))
    expect(refusal).toMatchObject({ code: 'CORRUPT', details: { offset: content.length, intactThrough: 0 } })
    expect(await codeOf(() => ctx.sessionPersistence.inspect('a'))).toBe('CORRUPT')
    expect(segmentsOf(root, 'a')).toHaveLength(1)
    const { sessions } = await ctx.sessionPersistence.list()
    expect(sessions).toMatchObject([{ id: 'a', status: 'damaged' }])
    expect(readFileSync(segmentsOf(root, 'a')[0]!.path)).toEqual(Buffer.concat([content, tail]))
  })

  it('what is refused can be repaired, inspected and forked before the damage, and salvaged', async () => {
    await closed(['one', 'two'])
    leave(Buffer.from('garbage\n'))
    const verdict = await ctx.sessionPersistence.verify('a')
    expect(verdict).toMatchObject({ kind: 'damaged', code: 'CORRUPT', intactThrough: 1 })
    const before = hashOf(root, 'a')
    const view = await ctx.sessionPersistence.inspect('a', { through: 1 })
    const fork = await ctx.sessionPersistence.fork('a', { id: 'c', through: 1 })
    expect([textsOf(view), textsOf(fork)]).toEqual([
      ['one', 'two'],
      ['one', 'two'],
    ])
    const { header, kept, lost } = await ctx.sessionPersistence.salvage('a', { id: 's' })
    expect([kept, lost.count, header.salvaged]).toEqual([2, 0, { id: 'a', lost: 0, unproven: 0 }])
    expect(textsOf(await ctx.sessionPersistence.resume('s'))).toEqual(['one', 'two'])
    expect(hashOf(root, 'a')).toBe(before)
    const record = await ctx.sessionPersistence.repair('a', { acceptLossAfter: 1 })
    expect(record).toMatchObject({ sizeBytes: 8, lastSeq: 1 })
    const told: SessionRecovered[] = []
    ctx.on('tidemark/recovered', (_session, found) => void told.push(found))
    const session = await ctx.sessionPersistence.resume('a')
    expect(textsOf(session)).toEqual(['one', 'two'])
    expect(told).toEqual([record])
    expect(typesOf(session).slice(2)).toEqual(['session/recovered', 'session/resumed'])
  })

  it('C14, G24: a bad line 40 of 100 leaves a hole in a salvaged session, and everything else at its seq', async () => {
    const session = await ctx.sessionPersistence.create({ id: 'a', meta: { title: 'x' } })
    for (const index of upTo(100)) {
      say(session, `text ${index}`)
      if (index % 10 === 9) await ctx.sessions.flush(session)
    }
    await ctx.sessions.dispose(session)
    const [{ path, lines }] = segmentsOf(root, 'a') as [ReturnType<typeof segmentsOf>[0]]
    const at = lines.findIndex((line) => line.startsWith('{"seq":39,'))
    writeFileSync(path, [...lines.with(at, lines[at]!.slice(0, 50)), ''].join('\n'))
    const before = hashOf(root, 'a')
    const salvaged = await ctx.sessionPersistence.salvage('a', { id: 's' })
    expect(salvaged).toMatchObject({
      header: { meta: { title: 'x' }, salvaged: { id: 'a', lost: 1 } },
      kept: 99,
      lost: { count: 1, ranges: [{ from: 39, through: 39 }] },
    })
    expect(salvaged.unproven.ranges[0]).toMatchObject({ from: 30 })
    const resumed = await ctx.sessionPersistence.resume('s')
    expect(resumed.log.length).toBe(101)
    expect(resumed.log.at(39)).toMatchObject({ type: 'tidemark/lost', data: {}, ignorable: true })
    expect(textsOf(resumed)).toEqual(
      upTo(100)
        .filter((seq) => seq !== 39)
        .map((seq) => `text ${seq}`),
    )
    expect(resumed.header).toEqual((await ctx.sessionPersistence.inspect('s')).header)
    expect(hashOf(root, 'a')).toBe(before)
  })

  it('G22: a log that ends before a receipt is refused, and one that holds it is not', async () => {
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    say(session, 'one')
    const early = await ctx.sessions.flush(session)
    const [{ path }] = segmentsOf(root, 'a') as [ReturnType<typeof segmentsOf>[0]]
    const content = readFileSync(path)
    say(session, 'two')
    const receipt = await ctx.sessions.flush(session)
    await ctx.sessions.dispose(session)
    for (const held of [early, receipt])
      expect(textsOf(await ctx.sessionPersistence.inspect('a', { receipt: held }))).toEqual(['one', 'two'])
    const other = { ...receipt, digest: early.digest! }
    for (const wrong of [other, { ...receipt, durableSeq: 2 }]) {
      expect(await codeOf(() => ctx.sessionPersistence.inspect('a', { receipt: wrong }))).toBe('CORRUPT')
      expect(await codeOf(() => ctx.sessionPersistence.resume('a', { receipt: wrong }))).toBe('CORRUPT')
    }
    writeFileSync(path, content)
    for (const name of readdirSync(folderOf(root, 'a')))
      if (name.startsWith('head-')) rmSync(join(folderOf(root, 'a'), name))
    expect(textsOf(await ctx.sessionPersistence.inspect('a', { receipt: early }))).toEqual(['one'])
    expect(await codeOf(() => ctx.sessionPersistence.resume('a', { receipt }))).toBe('CORRUPT')
    expect(textsOf(await ctx.sessionPersistence.resume('a', { receipt: early }))).toEqual(['one'])
  })

  it('C03: a list of good sessions shows the bad one beside them', async () => {
    for (const id of ['a', 'b', 'c']) await closed(['one'], id)
    writeFileSync(segmentsOf(root, 'b')[0]!.path, 'garbage\n')
    const { sessions } = await ctx.sessionPersistence.list()
    expect(sessions.map(({ status }) => status)).toEqual(['ok', 'ok', 'damaged'])
    expect(sessions.at(-1)).toMatchObject({ id: 'b' })
    expect(reported(ctx)).toEqual([])
  })
})
