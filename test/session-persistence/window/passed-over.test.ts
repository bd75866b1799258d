import { createHash } from 'node:crypto'
import { chmodSync, copyFileSync, existsSync, lstatSync, mkdirSync, readFileSync, readdirSync } from 'node:fs'
import { renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isSessionError, type SessionError } from '@tidemark/session-core'
import type { Lease, Tail } from '@tidemark/session-persistence'
import {
  JournalStorage,
  systemPort,
  type JournalPort,
  type PortFile,
} from '@tidemark/session-persistence/journal'
import { beforeEach, describe, expect, it } from 'vitest'
import { encodePieces, parseMessagePack } from '../../../packages/session-persistence/src/msgpack.ts'
import { appendNext, headerOf, newClaim, readBack, seqsOf, upTo } from '../batches.ts'
import { folderOf, segmentsOf } from '../files.ts'
import { reported, say, startJournal, textsOf } from '../host.ts'
import { systemError } from '../journal/memory-port.ts'
import { codeOf, refusalOf } from '../refusal.ts'
import { scratch } from '../scratch.ts'

let root: string
beforeEach(() => {
  root = scratch()
})

const carry = ['test/event']
const content = (text: string): Uint8Array => Buffer.from(text)
const textOf = (snapshot: { content: Uint8Array } | undefined): string | undefined =>
  snapshot && Buffer.from(snapshot.content).toString()
const namesOf = (id: string): string[] =>
  readdirSync(folderOf(root, id))
    .filter((name) => name.startsWith('snapshot-'))
    .sort((a, b) => Number(a.split('-')[1]) - Number(b.split('-')[1]))
const asideOf = (id: string): string[] => {
  const place = join(folderOf(root, id), 'recovered')
  return existsSync(place) ? readdirSync(place) : []
}
const pathOf = (id: string, name: string): string => join(folderOf(root, id), name)

function open(port: JournalPort = systemPort): JournalStorage {
  return new JournalStorage({ root, port })
}

/** A closed session of so many batches of two events, with snapshots where the last two of them end. */
async function stored(id: string, batches = 4): Promise<Tail> {
  const storage = open()
  const lease = await storage.create(headerOf(id), { claim: newClaim() })
  for (const index of upTo(batches)) {
    await appendNext(lease, 2)
    if (index >= batches - 2) await save(storage, lease)
  }
  const { tail } = lease
  await storage.close()
  return tail
}

const save = (storage: JournalStorage, lease: Lease): Promise<void> =>
  storage.snapshots.save(lease, { at: lease.tail, content: content(`through ${lease.tail.seq}`) })

/** The system refuses one file, when it is opened or when it is read. */
function refusing(name: () => string, code: string, at: 'open' | 'read'): JournalPort {
  return {
    ...systemPort,
    open: async (path, how) => {
      const isIt = path.endsWith(name())
      if (isIt && at === 'open') throw systemError(code)
      const file = await systemPort.open(path, how)
      if (!isIt) return file
      const read = (): Promise<number> => Promise.reject(systemError(code))
      const of = (key: keyof PortFile) => (file[key] as (...args: unknown[]) => Promise<never>).bind(file)
      return {
        read,
        write: of('write'),
        sync: of('sync'),
        stat: of('stat'),
        chmod: of('chmod'),
        close: of('close'),
      }
    },
  }
}

const instead: readonly (readonly [string, (path: string) => void])[] = [
  ['a folder', (path) => (rmSync(path), mkdirSync(path, { mode: 0o700 }))],
  ['a file that others can write to', (path) => chmodSync(path, 0o666)],
  ['a link', (path) => (renameSync(path, join(scratch(), 'elsewhere')), symlinkSync('/nowhere', path))],
  ['zeros', (path) => writeFileSync(path, Buffer.alloc(28_672))],
  ['no bytes', (path) => writeFileSync(path, '')],
]

describe('what stands in the place of a snapshot', () => {
  it.each(instead)('G37: %s is passed over, and told: the one before is given', async (_, put) => {
    const tail = await stored('a')
    const [older, newer] = namesOf('a') as [string, string]
    put(pathOf('a', newer))
    const told: SessionError[] = []
    const storage = open()
    const found = await storage.snapshots.load('a', undefined, (error) => told.push(error))
    expect([found?.at.seq, textOf(found)]).toEqual([tail.seq - 2, `through ${tail.seq - 2}`])
    expect(told.map(({ code, details }) => [code, details.segment])).toEqual([['CORRUPT', newer]])
    put(pathOf('a', older))
    expect(await storage.snapshots.load('a')).toBeUndefined()
    expect(seqsOf((await readBack(storage, 'a')).events)).toEqual(upTo(tail.seq + 1))
    expect(asideOf('a')).toEqual([])
  })

  it.each([
    ['EIO', 'open'],
    ['EIO', 'read'],
    ['EACCES', 'open'],
    ['EMFILE', 'open'],
  ] as const)('G37: %s when the system should %s it passes over that one, and tells', async (code, at) => {
    const tail = await stored('a')
    const [, newer] = namesOf('a') as [string, string]
    const storage = open(refusing(() => newer, code, at))
    const told: SessionError[] = []
    const found = await storage.snapshots.load('a', undefined, (error) => told.push(error))
    expect(found?.at.seq).toBe(tail.seq - 2)
    expect(told.map((error) => [error.code, error.details.segment, error.details.reason])).toEqual([
      ['STORAGE_FAILED', newer, code],
    ])
    const lease = await storage.acquire('a', { claim: newClaim() })
    // What passes says nothing of the file; what does not is out of the way.
    expect(namesOf('a').includes(newer)).toBe(code === 'EMFILE')
    expect(asideOf('a')).toHaveLength(code === 'EMFILE' ? 0 : 1)
    await lease.release()
  })

  it.each(instead)('G37: %s: a session is inspected and resumed, and the host told once', async (_, put) => {
    const first = await startJournal(root, { snapshotEvents: 10, retainEvents: 0 })
    const session = await first.sessionPersistence.create({ id: 'a' })
    for (const index of upTo(40)) {
      say(session, `${index}`)
      await session.flush()
      await new Promise((resolve) => setImmediate(resolve))
    }
    await first.sessions.dispose(session)
    const names = namesOf('a')
    expect(names.length).toBeGreaterThan(0)
    for (const name of names) put(pathOf('a', name))
    const ctx = await startJournal(root)
    for (const _look of upTo(3))
      expect(textsOf(await ctx.sessionPersistence.inspect('a'))).toEqual(upTo(40).map(String))
    expect(namesOf('a')).toEqual(names)
    expect(textsOf(await ctx.sessionPersistence.fork('a', { id: 'b' }))).toEqual(upTo(40).map(String))
    expect(textsOf(await ctx.sessionPersistence.resume('a'))).toEqual(upTo(40).map(String))
    expect(reported(ctx).map((error) => (error as SessionError).details.segment)).toEqual(names.toReversed())
    expect(namesOf('a')).toEqual([])
    expect(asideOf('a').map((name) => name.replace(/\.\d+\.[0-9a-f]{4}$/, ''))).toEqual([...names].sort())
  })

  it('G37: of a storage that fails whenever it is asked for one, the log is read, and the host told once', async () => {
    await stored('a')
    const ctx = await startJournal(root)
    const storage = ctx.get('sessionStorage') as unknown as JournalStorage
    storage.snapshots.load = () => Promise.reject(systemError('EIO'))
    for (const _look of upTo(2))
      expect((await ctx.sessionPersistence.inspect('a', { carry })).log.length).toBe(8)
    expect(await codeOf(() => ctx.sessionPersistence.inspect('none'))).toBe('NOT_FOUND')
    expect(reported(ctx).filter(isSessionError)).toMatchObject([
      { code: 'STORAGE_FAILED', details: { reason: 'snapshots.load' } },
    ])
  })
})

/** A session whose newer snapshot is a link to where it stands now. */
async function linked(): Promise<{ elsewhere: string; before: Buffer; newer: string }> {
  await stored('a')
  const [, newer] = namesOf('a') as [string, string]
  const elsewhere = join(scratch(), 'elsewhere')
  renameSync(pathOf('a', newer), elsewhere)
  symlinkSync(elsewhere, pathOf('a', newer))
  return { elsewhere, before: readFileSync(elsewhere), newer }
}

describe('a snapshot that the next holder set aside', () => {
  it('C10: is whole under another name, and takes the place of none of the two that are kept', async () => {
    await stored('a')
    const [older, newer] = namesOf('a') as [string, string]
    const zeros = Buffer.alloc(28_672)
    writeFileSync(pathOf('a', newer), zeros)
    const storage = open()
    expect((await storage.snapshots.load('a'))?.at.seq).toBe(5)
    expect(namesOf('a')).toEqual([older, newer])
    const lease = await storage.acquire('a', { claim: newClaim() })
    expect(namesOf('a')).toEqual([older])
    const [aside] = asideOf('a') as [string]
    expect(aside.startsWith(`${newer}.2.`)).toBe(true)
    const path = join(folderOf(root, 'a'), 'recovered', aside)
    expect([readFileSync(path).equals(zeros), lstatSync(path).mode & 0o777]).toEqual([true, 0o600])
    await appendNext(lease, 2)
    await save(storage, lease)
    expect(namesOf('a')).toEqual([older, expect.stringMatching(/^snapshot-9-/)])
    await storage.close()
    expect((await open().snapshots.load('a'))?.at.seq).toBe(9)
    expect(asideOf('a')).toEqual([aside])
  })

  it('M03: a link goes as a link, and what it leads to is neither written nor removed', async () => {
    const { elsewhere, before } = await linked()
    const storage = open()
    expect((await storage.snapshots.load('a'))?.at.seq).toBe(5)
    const lease = await storage.acquire('a', { claim: newClaim() })
    expect(asideOf('a')).toHaveLength(1)
    expect(lstatSync(join(folderOf(root, 'a'), 'recovered', asideOf('a')[0]!)).isSymbolicLink()).toBe(true)
    expect(readFileSync(elsewhere).equals(before)).toBe(true)
    await lease.release()
  })

  it('M03: where a link stands under the name of one that is saved, a file takes its place, and its target stays', async () => {
    const { elsewhere, before, newer } = await linked()
    const storage = open()
    const lease = await storage.acquire('a', { claim: newClaim() })
    const told: SessionError[] = []
    const snapshot = { at: lease.tail, content: content('anew') }
    await storage.snapshots.save(lease, snapshot, (error) => told.push(error))
    expect(told.map(({ code, details }) => [code, details.segment])).toEqual([['CORRUPT', newer]])
    expect(lstatSync(pathOf('a', newer)).isFile()).toBe(true)
    expect(readFileSync(elsewhere).equals(before)).toBe(true)
    expect(asideOf('a').map((name) => name.startsWith(`${newer}.`))).toEqual([true])
    await storage.close()
    expect((await open().snapshots.load('a'))?.at.seq).toBe(7)
  })

  it('G37: eight of one session are kept, the newest', async () => {
    await stored('a')
    for (let round = 0; round < 12; round++) {
      const [newest] = namesOf('a').slice(-1)
      writeFileSync(pathOf('a', newest!), 'x')
      const storage = open()
      await storage.snapshots.load('a')
      const lease = await storage.acquire('a', { claim: newClaim() })
      await appendNext(lease, 2)
      await save(storage, lease)
      await storage.close()
    }
    const epochs = asideOf('a').map((name) => Number(/\.(\d+)\.[0-9a-f]+$/.exec(name)?.[1]))
    expect(epochs.sort((a, b) => a - b)).toEqual(upTo(8).map((index) => index + 6))
  })
})

/** The same snapshot as a program wrote it that did not name the log in it. */
function unbound(path: string): void {
  const { session: _s, log: _l, ...fields } = parseMessagePack(readFileSync(path)) as Record<string, unknown>
  const { content: state, epoch, seq, digest, segment, offset } = fields
  const names = JSON.stringify([1, epoch, seq, digest, segment, offset])
  const sum = createHash('sha256')
    .update(names)
    .update(state as Uint8Array)
    .digest('hex')
  writeFileSync(path, Buffer.concat([...encodePieces({ ...fields, format: 1, sum })]))
}

/** Takes its last two batches from a log, and what else proves them. */
function shorten(id: string): void {
  const { path, lines } = segmentsOf(root, id).at(-1)!
  const commits = lines.flatMap((line, index) => (line.startsWith('{"commit":') ? [index] : []))
  writeFileSync(path, `${lines.slice(0, commits.at(-3)! + 1).join('\n')}\n`)
  for (const name of readdirSync(folderOf(root, id))) if (name.startsWith('head-')) rmSync(pathOf(id, name))
}

describe('a snapshot that is ahead of the log', () => {
  it('G37: of a longer session, in another’s folder, proves nothing: that one is read, resumed and verified', async () => {
    await stored('a')
    await stored('longer', 12)
    const [, foreign] = namesOf('longer') as [string, string]
    copyFileSync(pathOf('longer', foreign), pathOf('a', foreign))
    const ctx = await startJournal(root)
    expect((await ctx.sessionPersistence.inspect('a', { carry })).log.length).toBe(8)
    expect(await ctx.sessionPersistence.verify('a')).toMatchObject({ kind: 'intact', tail: { seq: 7 } })
    expect((await ctx.sessionPersistence.list()).sessions.map(({ status }) => status)).toEqual(['ok', 'ok'])
    expect((await ctx.sessionPersistence.resume('a', { carry })).log.at(7).seq).toBe(7)
    expect(namesOf('a')).not.toContain(foreign)
    expect(asideOf('a')).toHaveLength(1)
  })

  it('G37: of a fork that went on, in the folder of its source, proves nothing, although both begin alike', async () => {
    await stored('a')
    const storage = open()
    const lease = await storage.fork({ id: 'a', through: 7 }, headerOf('b'), newClaim())
    await appendNext(lease, 8)
    await save(storage, lease)
    await storage.close()
    const name = namesOf('b').at(-1)!
    copyFileSync(pathOf('b', name), pathOf('a', name))
    expect(seqsOf((await readBack(open(), 'a')).events)).toEqual(upTo(8))
  })

  it('G37: of an earlier session of the same id proves nothing', async () => {
    await stored('a', 12)
    const name = namesOf('a').at(-1)!
    const kept = join(scratch(), name)
    copyFileSync(pathOf('a', name), kept)
    await open().remove('a')
    await stored('a')
    copyFileSync(kept, pathOf('a', name))
    expect(seqsOf((await readBack(open(), 'a')).events)).toEqual(upTo(8))
  })

  it('G37: of this log proves the loss; one of format 1, which names no log, does not', async () => {
    await stored('a')
    shorten('a')
    const { code, details } = await refusalOf(() => readBack(open(), 'a'))
    expect([code, details.rule, details.intactThrough]).toEqual(['CORRUPT', 'R3', 3])
    for (const name of namesOf('a')) unbound(pathOf('a', name))
    expect(seqsOf((await readBack(open(), 'a')).events)).toEqual(upTo(4))
  })

  it('one of format 1 serves where the log holds what it says', async () => {
    await stored('a')
    for (const name of namesOf('a')) unbound(pathOf('a', name))
    expect(textOf(await open().snapshots.load('a'))).toBe('through 7')
  })

  it.each(['EIO', 'EACCES', 'EMFILE'])(
    'G37: and that cannot be read (%s) may be a proof: the log is refused, and nothing changed',
    async (code) => {
      await stored('a')
      shorten('a')
      const newest = namesOf('a').at(-1)!
      rmSync(pathOf('a', namesOf('a')[0]!))
      const storage = open(refusing(() => newest, code, 'open'))
      const before = readdirSync(folderOf(root, 'a'))
      for (const ask of [() => readBack(storage, 'a'), () => storage.acquire('a', { claim: newClaim() })]) {
        const { code: refused, details } = await refusalOf(ask)
        expect([refused, details.segment, details.reason]).toEqual(['STORAGE_FAILED', newest, code])
      }
      expect(readdirSync(folderOf(root, 'a'))).toEqual(before)
    },
  )
})

describe('a snapshot that is saved', () => {
  it('stands for the end of a batch of the log, or it is TAIL_MOVED and not stored', async () => {
    const storage = open()
    const lease = await storage.create(headerOf('a'), { claim: newClaim() })
    const empty = lease.tail
    const { tail: first } = await appendNext(lease, 2)
    await appendNext(lease, 2)
    const { tail } = lease
    const zeros = '0'.repeat(64)
    for (const at of [
      { seq: 1, digest: zeros },
      { seq: 2, digest: tail.digest },
      { seq: 3, digest: first.digest },
      { seq: 4, digest: tail.digest },
      empty,
    ])
      expect(await codeOf(() => storage.snapshots.save(lease, { at, content: content('x') }))).toBe(
        'TAIL_MOVED',
      )
    expect(namesOf('a')).toEqual([])
    await storage.snapshots.save(lease, { at: first, content: content('x') })
    expect(textOf(await storage.snapshots.load('a'))).toBe('x')
    await storage.close()
  })

  it('may be of what an earlier lease wrote long ago', async () => {
    const { digest } = await stored('a')
    const storage = open()
    const lease = await storage.acquire('a', { claim: newClaim() })
    for (const _batch of upTo(80)) await appendNext(lease, 1)
    for (const name of namesOf('a')) rmSync(pathOf('a', name))
    await storage.snapshots.save(lease, { at: { seq: 7, digest }, content: content('x') })
    expect(textOf(await storage.snapshots.load('a'))).toBe('x')
    await storage.close()
  })
})
