import { appendFileSync, cpSync, existsSync, openSync, readFileSync, readdirSync } from 'node:fs'
import { closeSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Session } from '@tidemark/session-core'
import { JournalStorage, sealLine, systemPort, type JournalPort } from '@tidemark/session-persistence/journal'
import { SimulatedDisk, type DiskFault } from '@tidemark/session-persistence/testkit'
import { describe, expect, it } from 'vitest'
import { append, appendNext, encoded, events, headerOf, newClaim, readBack, seqsOf, upTo } from './batches.ts'
import { folderOf, readStored, segmentsOf, storedSeqs } from './files.ts'
import { hostOn } from './foreign-host.ts'
import { say, start, startJournal, stop, textsOf, type Started } from './host.ts'
import { codeOf, refusalOf } from './refusal.ts'
import { scratch } from './scratch.ts'

const ruleOf = async (ask: () => unknown): Promise<unknown[]> => {
  const { code, details } = await refusalOf(ask)
  return [code, details.rule, details.intactThrough]
}

describe('a seq that stands twice', () => {
  it('B08: is never written, and in a file it is CORRUPT for whoever reads on from before it or from the start', async () => {
    const root = scratch()
    const ctx = await startJournal(root)
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    session.append('turn/start', {})
    for (const index of upTo(9_812)) say(session, `text ${index}`)
    await session.flush()
    expect(session.append('step/start', {}).seq).toBe(9_813)
    await session.flush()
    const storage = new JournalStorage({ root, port: systemPort })
    const following = ctx.sessionPersistence.follow('a', { pollMs: 10 })
    const found: number[] = []
    while (found.length < 9_814) {
      const step = await following.next()
      if (!step.done) found.push(...step.value.events.map(({ seq }) => seq))
    }
    expect(found).toEqual(upTo(9_814))
    await ctx.sessions.dispose(session)
    const { path, lines } = segmentsOf(root, 'a').at(-1)!
    const [other, copy] = [scratch(), '000001-000.jsonl']
    cpSync(root, other, { recursive: true })
    const lease = await storage.acquire('a', { claim: newClaim() })
    expect(await codeOf(() => append(lease, [encoded(9_813)]))).toBe('TAIL_MOVED')
    await storage.close()

    // The batch of seq 9813 once more, as it was written, and a thousand events after it.
    const twice = [...lines.slice(-2), ...events(9_814, 10_813).map(({ json }) => json)]
    expect(twice[0]).toMatch(/^\{"seq":9813,/)
    for (const at of [path, join(folderOf(other, 'a'), copy)]) appendFileSync(at, `${twice.join('\n')}\n`)
    // Behind a seal they do not count. In the newest segment nothing says which of the two is right.
    expect(await storedSeqs(root, 'a')).toEqual(upTo(9_814))
    const host = await startJournal(other)
    for (const ask of [
      () => host.sessionPersistence.inspect('a'),
      () => host.sessionPersistence.resume('a'),
      () => host.sessionPersistence.fork('a', { id: 'c' }),
      async () => {
        for await (const _ of host.sessionPersistence.follow('a'));
      },
    ])
      expect(await ruleOf(ask)).toEqual(['CORRUPT', 'R5', 9_813])
    expect(await host.sessionPersistence.verify('a')).toMatchObject({ kind: 'damaged', rule: 'R5' })
    expect((await host.sessionPersistence.inspect('a', { through: 9_813 })).log.length).toBe(9_814)
  })

  it('B08: tells whoever follows the log that it is damaged, and is never followed in silence', async () => {
    const root = scratch()
    const ctx = await startJournal(root)
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    for (const index of upTo(3)) {
      say(session, `text ${index}`)
      await session.flush()
    }
    const following = ctx.sessionPersistence.follow('a', { pollMs: 10 })
    const found: number[] = []
    while (found.length < 3)
      found.push(...((await following.next()).value?.events ?? []).map(({ seq }) => seq))
    const { path, lines } = segmentsOf(root, 'a').at(-1)!
    appendFileSync(path, `${lines.slice(-2).join('\n')}\n`)
    expect(await ruleOf(() => following.next())).toEqual(['CORRUPT', 'R5', 2])
    expect(await ruleOf(() => ctx.sessionPersistence.inspect('a'))).toEqual(['CORRUPT', 'R5', 2])
    expect(found).toEqual([0, 1, 2])
  })

  it('B08: is no seed', async () => {
    const { ctx } = await start()
    const seed = [0, 1, 1, 2].map((seq) => ({ seq, time: 0, type: 'turn/start', data: {} }))
    const { code, details } = await refusalOf(() => ctx.sessions.create({ seed }))
    expect([code, details.seq, details.intactThrough]).toEqual(['INVALID_SEED', 2, 1])
    expect([...ctx.sessions]).toEqual([])
  })
})

describe('two writers that no lock keeps apart', () => {
  it('B12: of copies that were merged back every line says which lifecycle wrote it, and the log is refused', async () => {
    const [root, copy] = [join(scratch(), 'root'), join(scratch(), 'copy')]
    const settings = { enabled: true, flushDelayMs: 5 }
    const first = await start({ ...settings, root })
    const incarnations: string[] = []
    const write = async ({ ctx }: Started, session: Session, text: string): Promise<void> => {
      incarnations.push(session.incarnation)
      say(session, text)
      await session.flush()
      await ctx.sessions.dispose(session)
    }
    await write(first, await first.ctx.sessionPersistence.create({ id: 'a' }), 'before')
    cpSync(root, copy, { recursive: true })
    await write(first, await first.ctx.sessionPersistence.resume('a'), 'here')
    await stop(first)
    const second = await start({ ...settings, root: copy })
    await write(second, await second.ctx.sessionPersistence.resume('a'), 'there')
    await write(second, await second.ctx.sessionPersistence.resume('a'), 'there again')
    await stop(second)
    const writersIn = async (at: string) =>
      (await readStored(at, 'a'))
        .filter((batch) => batch.events.length > 0)
        .map(({ writer }) => writer.incarnation)
    expect(await writersIn(root)).toEqual([incarnations[0], incarnations[1]])
    expect(await writersIn(copy)).toEqual([incarnations[0], incarnations[2], incarnations[3]])

    for (const name of readdirSync(folderOf(copy, 'a')))
      if (!existsSync(join(folderOf(root, 'a'), name)))
        cpSync(join(folderOf(copy, 'a'), name), join(folderOf(root, 'a'), name))
    const { ctx } = await start({ ...settings, root })
    const hashes = segmentsOf(root, 'a')
    const refusal = await refusalOf(() => ctx.sessionPersistence.resume('a'))
    expect([refusal.code, refusal.details.segment]).toEqual(['CORRUPT', '000002-000.jsonl'])
    expect(await ctx.sessionPersistence.verify('a')).toMatchObject({ kind: 'damaged' })
    expect(segmentsOf(root, 'a')).toEqual(hashes)
    const named = hashes.map(({ lines }) => {
      const { segment } = JSON.parse(lines[0]!) as {
        segment: { writer: { incarnation: string; pid: number } }
      }
      return [segment.writer.incarnation, segment.writer.pid]
    })
    expect(named).toEqual([0, 1, 3].map((index) => [incarnations[index], process.pid]))
  })

  /** A file system that says where a file ended a while ago, as a client does that knows of no other. */
  const stale = (isShared: boolean): JournalPort => {
    const { locks: _, ...port } = systemPort
    return {
      ...port,
      networkFs: async () => (isShared ? 'NFS' : undefined),
      open: async (path, how) => {
        const file = await systemPort.open(path, how)
        const write = async (bytes: Uint8Array, offset: number): Promise<number> => {
          await new Promise((resolve) => setTimeout(resolve, 2))
          return file.write(bytes, offset)
        }
        return {
          write,
          read: (into, offset) => file.read(into, offset),
          sync: () => file.sync(),
          stat: () => file.stat(),
          chmod: (mode) => file.chmod(mode),
          close: () => file.close(),
        }
      },
    }
  }

  it('B14: a network file system is refused, and where it is allowed, two that write at a stale end share no file', async () => {
    const root = join(scratch(), 'root')
    const create = (storage: JournalStorage) => storage.create(headerOf('a'), { claim: newClaim() })
    const refused = await refusalOf(() => create(new JournalStorage({ root, port: stale(true) })))
    expect([refused.code, refused.details.reason, existsSync(root)]).toEqual(['STORAGE_FAILED', 'NFS', false])

    const storages = upTo(2).map(() => new JournalStorage({ root, port: stale(true), allowNetworkFs: true }))
    const first = await create(storages[0]!)
    const told: number[] = []
    const codes: string[] = []
    const writeWith = async (lease: typeof first): Promise<void> => {
      try {
        for (const _ of upTo(20)) {
          const { tail } = await appendNext(lease, 3)
          told.push(tail.seq - 2, tail.seq - 1, tail.seq)
        }
      } catch (error) {
        codes.push((error as { code: string }).code)
      }
    }
    const late = async (): Promise<void> => {
      await new Promise((resolve) => setTimeout(resolve, 15))
      await writeWith(await storages[1]!.acquire('a', { claim: newClaim() }))
    }
    await Promise.all([writeWith(first), late()])
    expect(codes).toEqual(['FENCED'])
    const found = seqsOf((await readBack(new JournalStorage({ root, port: systemPort }), 'a')).events)
    expect(found).toEqual(upTo(found.length))
    expect(new Set(told).size).toBe(told.length)
    expect(found).toEqual(expect.arrayContaining(told))
    for (const { path } of segmentsOf(root, 'a')) expect(readFileSync(path).includes(0)).toBe(false)
    for (const storage of storages) await storage.close()
  })

  it('B14: a line that another host put at a stale end is refused, and one that left zeros before it is set aside', async () => {
    const written = async (): Promise<{ root: string; path: string; sizes: number[] }> => {
      const root = scratch()
      const storage = new JournalStorage({ root, port: systemPort })
      const lease = await storage.create(headerOf('a'), { claim: newClaim() })
      const { path } = segmentsOf(root, 'a')[0]!
      const sizes = []
      for (const _ of upTo(3)) {
        await appendNext(lease, 2)
        sizes.push(statSync(path).size)
      }
      await storage.close()
      return { root, path, sizes }
    }
    const put = (path: string, offset: number): void => {
      const file = openSync(path, 'r+')
      writeSync(file, `${encoded(4).json}\n`, offset)
      closeSync(file)
    }
    const over = await written()
    put(over.path, over.sizes[1]! - 40)
    const open = (root: string) => new JournalStorage({ root, port: systemPort })
    expect((await ruleOf(() => readBack(open(over.root), 'a'))).slice(0, 2)).toEqual(['CORRUPT', 'R3'])
    expect((await ruleOf(() => open(over.root).acquire('a', { claim: newClaim() })))[0]).toBe('CORRUPT')

    const beyond = await written()
    put(beyond.path, beyond.sizes[2]! + 512)
    expect(await storedSeqs(beyond.root, 'a')).toEqual(upTo(6))
    const storage = open(beyond.root)
    const lease = await storage.acquire('a', { claim: newClaim() })
    expect(lease.recovered).toMatchObject([{ offset: beyond.sizes[2], lastSeq: 5 }])
    await appendNext(lease, 2)
    await storage.close()
    expect(await storedSeqs(beyond.root, 'a')).toEqual(upTo(8))
  })
})

describe('what names itself', () => {
  it('C08: two sessions that are each other’s parent, and one that is its own, are sessions like others', async () => {
    const root = scratch()
    const ctx = await startJournal(root)
    const persistence = ctx.sessionPersistence
    const session = await persistence.create({ id: 'a' })
    say(session, 'one')
    await ctx.sessions.dispose(session)
    await ctx.sessions.dispose(await persistence.fork('a', { id: 'b' }))
    await persistence.remove('a')
    await ctx.sessions.dispose(await persistence.fork('b', { id: 'a' }))
    const storage = new JournalStorage({ root, port: systemPort })
    const own = headerOf('own', { parent: { id: 'own', seq: 0 }, forkedAt: [0] })
    const { events: seed } = await readBack(storage, 'a')
    const lines = seed.map((event) => ({ ...encoded(event.seq), json: JSON.stringify(event), event }))
    const lease = await storage.create(own, { claim: newClaim(), seed: lines })
    await lease.release()
    await storage.close()

    const ids = ['a', 'b', 'own']
    const parents = { a: 'b', b: 'a', own: 'own' } as Record<string, string>
    const { sessions } = await persistence.list()
    expect(sessions.map(({ id, status }) => [id, status]).sort()).toEqual(ids.map((id) => [id, 'ok']))
    for (const id of ids) {
      const view = await persistence.inspect(id)
      expect([view.header.parent?.id, textsOf(view)[0]]).toEqual([parents[id], 'one'])
      expect((await view.history({ countMax: 10 })).events.length).toBe(view.log.length)
      expect(await persistence.verify(id)).toMatchObject({ kind: 'intact' })
      const child = await persistence.fork(id, { id: `child of ${id}` })
      expect(child.header.parent?.id).toBe(id)
      const resumed = await persistence.resume(id)
      say(resumed, 'two')
      await ctx.sessions.dispose(resumed)
    }
    for (const id of ids) {
      await persistence.remove(id)
      expect(await codeOf(() => persistence.inspect(id))).toBe('NOT_FOUND')
      expect(textsOf(await persistence.inspect(`child of ${id}`))).toEqual(['one'])
    }
  })

  it('C08: a segment that goes on from itself, or from a later one, is CORRUPT', async () => {
    const root = scratch()
    const ctx = await startJournal(root)
    for (const resumes of upTo(3)) {
      const session = await (resumes === 0
        ? ctx.sessionPersistence.create({ id: 'a' })
        : ctx.sessionPersistence.resume('a'))
      say(session, 'text')
      await ctx.sessions.dispose(session)
    }
    const [, second] = segmentsOf(root, 'a')
    const { sum: _, ...line } = JSON.parse(second!.lines[0]!) as { sum: string; segment: object }
    for (const segment of ['000002-000.jsonl', '000003-000.jsonl']) {
      const header = line.segment as { predecessor: object }
      const fields = { ...header, predecessor: { ...header.predecessor, segment } } as { sum?: string }
      delete fields.sum
      const lines = [sealLine('segment', fields).text, ...second!.lines.slice(1)]
      writeFileSync(second!.path, `${lines.join('\n')}\n`)
      for (const ask of ['inspect', 'resume', 'fork'] as const)
        expect((await ruleOf(() => ctx.sessionPersistence[ask]('a'))).slice(0, 2)).toEqual(['CORRUPT', 'R2'])
      expect((await ctx.sessionPersistence.verify('a')).kind).toBe('damaged')
    }
  })

  it('C08: a result that answers itself or a later event is refused, and in history it closes nothing', async () => {
    const { ctx } = await start()
    const session = ctx.sessions.create()
    const parts = [{ type: 'text', text: 'x' }] as const
    for (const callSeq of [0, 1, 5]) {
      const result = { callId: 'c', callSeq, outcome: 'ok', parts } as const
      expect(await codeOf(() => session.append('tool/result', result))).toBe('NOT_OPEN')
    }
    const results = [1, 0].map((callSeq, seq) => ({
      seq,
      time: 0,
      type: 'tool/result',
      data: { callId: 'c', callSeq, outcome: 'ok', parts },
    }))
    const seeded = ctx.sessions.create({ seed: results })
    // Each is shown as it arrived, once, and none as the answer of another.
    expect(seeded.messages().map(({ role, seq }) => [role, seq])).toEqual([
      ['user', 0],
      ['user', 1],
    ])
  })
})

describe('what a caller is told', () => {
  /** A host on a disk that refuses what the test says, and a session with one acknowledged event. */
  async function faulty() {
    const disk = new SimulatedDisk()
    const storage = new JournalStorage({ root: '/journal', port: disk })
    const ctx = await hostOn(storage, { flushDelayMs: 1_000 })
    const durable: number[] = []
    ctx.on('tidemark/durable', (_session, seq) => void durable.push(seq))
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    say(session, 'one')
    expect(await session.flush()).toMatchObject({ kind: 'stored', durableSeq: 0 })
    const met: string[] = []
    const fail = (names: readonly string[], part: string, fault: DiskFault): void => {
      disk.onCall = ({ name, path }) => {
        if (!names.includes(name) || !path.includes(part)) return undefined
        met.push(name)
        return fault
      }
    }
    return { disk, ctx, session, durable, fail, met }
  }

  it.each([
    ['write', 'ENOSPC', 'STORAGE_FAILED'],
    ['sync', 'EIO', 'OUTCOME_UNKNOWN'],
  ])(
    'K03: an append admits, only a flush acknowledges: after a failed %s nothing says durable',
    async (...row) => {
      const [name, reason, code] = row
      const { disk, ctx, session, durable, fail } = await faulty()
      fail([name], '000001-000.jsonl', { kind: 'refused', code: reason, pages: 'dropped' })
      expect(say(session, 'two').seq).toBe(1)
      expect([session.durableSeq, durable]).toEqual([0, [0]])
      const refusal = await refusalOf(() => session.flush())
      expect([refusal.code, (refusal.cause as { code?: string }).code]).toEqual([code, reason])
      expect([session.durableSeq, durable]).toEqual([0, [0]])
      expect(await codeOf(() => say(session, 'three'))).toBe('STORAGE_FAILED')
      expect(await codeOf(() => session.flush())).toBe(code)
      await ctx.sessions.disposeAll()
      disk.onCall = undefined
      const next = await hostOn(new JournalStorage({ root: '/journal', port: disk }))
      const resumed = await next.sessionPersistence.resume('a', { receipt: { durableSeq: 0 } })
      expect(textsOf(resumed)).toEqual(['one'])
    },
  )

  it.each([
    ['the index of lists', '/index'],
    ['the head', '/head-'],
    ['a snapshot', '/snapshot-'],
  ])(
    'K10: a flush tells of the log: when %s cannot be written, what was acknowledged is read',
    async (_, part) => {
      const { disk, ctx, session, durable, fail } = await faulty()
      fail(['create', 'write', 'sync', 'rename', 'unlink'], part, { kind: 'refused', code: 'ENOSPC' })
      say(session, 'two')
      expect(await session.flush()).toMatchObject({ kind: 'stored', durableSeq: 1 })
      expect(durable).toEqual([0, 1])
      for (let index = 0; index < 300; index++) say(session, 'x'.repeat(1_000))
      expect(await session.flush()).toMatchObject({ kind: 'stored', durableSeq: 301 })
      const summary = { id: 'a', status: 'ok', lastSeq: 301 }
      expect((await ctx.sessionPersistence.list()).sessions).toMatchObject([summary])
      await disk.advance(2_000)
      await ctx.sessions.disposeAll()
      for (const isMended of [false, true]) {
        if (isMended) disk.onCall = undefined
        const next = await hostOn(new JournalStorage({ root: '/journal', port: disk }))
        expect((await next.sessionPersistence.list()).sessions).toMatchObject([summary])
        expect(textsOf(await next.sessionPersistence.inspect('a'))).toHaveLength(302)
        expect(await next.sessionPersistence.verify('a')).toMatchObject({ tail: { seq: 301 } })
      }
    },
  )
})
