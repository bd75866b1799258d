import { appendFileSync, chmodSync, chownSync, linkSync, lstatSync, readdirSync } from 'node:fs'
import { writeFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import type { Session } from '@tidemark/session-core'
import {
  JournalStorage,
  systemPort,
  type FileStat,
  type JournalPort,
} from '@tidemark/session-persistence/journal'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it } from 'vitest'
import { appendNext, headerOf, newClaim, readBack, seqsOf, upTo } from '../batches.ts'
import { folderOf } from '../files.ts'
import { say, startJournal } from '../host.ts'
import { refusalOf } from '../refusal.ts'
import { skipAloud } from '../processes/skip.ts'
import { scratch } from '../scratch.ts'

let root: string
beforeEach(() => {
  root = scratch()
})

const open = (port: JournalPort = systemPort): JournalStorage => new JournalStorage({ root, port })
const modeOf = (path: string): string => (lstatSync(path).mode & 0o777).toString(8)
const walk = (path: string): string[] =>
  readdirSync(path, { withFileTypes: true }).flatMap((entry) => {
    const each = join(path, entry.name)
    return entry.isDirectory() ? [each, ...walk(each)] : [each]
  })

async function stored(): Promise<void> {
  const storage = open()
  const lease = await storage.create(headerOf('a'), { claim: newClaim() })
  await appendNext(lease, 2)
  await storage.snapshots.save(lease, { at: lease.tail, content: Buffer.from('state') })
  await storage.close()
}

/** The system says of what stands at a path that somebody else owns it. */
function owned(isIt: (path: string) => boolean, owner: number, me = 1_000): JournalPort {
  const stat = (path: string, found: FileStat): FileStat => ({ ...found, owner: isIt(path) ? owner : me })
  return {
    ...systemPort,
    owner: me,
    stat: async (path) => stat(path, await systemPort.stat(path)),
    open: async (path, how) => {
      const file = await systemPort.open(path, how)
      const wrapped = Object.create(file) as typeof file
      return Object.assign(wrapped, {
        stat: async () => stat(path, await file.stat()),
        read: file.read.bind(file),
        write: file.write.bind(file),
        sync: file.sync.bind(file),
        chmod: file.chmod.bind(file),
        close: file.close.bind(file),
      })
    },
  }
}

const places: readonly (readonly [string, (path: string) => boolean])[] = [
  ['the root', (path) => path === root],
  ['store.json', (path) => path.endsWith('store.json')],
  ['sessions/', (path) => path.endsWith('/sessions')],
  ['a session’s folder', (path) => basename(path) === 's-a'],
  ['a segment', (path) => path.endsWith('.jsonl')],
  ['a head', (path) => path.includes('head-')],
]

describe('what somebody else owns', () => {
  it.each(places)('G28: %s is refused, for reading and for writing, and nothing changed', async (_, isIt) => {
    await stored()
    const before = walk(root).sort()
    const storage = open(owned(isIt, 4_711))
    for (const ask of [() => readBack(storage, 'a'), () => storage.acquire('a', { claim: newClaim() })]) {
      const { code, details } = await refusalOf(ask)
      expect([code, details.reason, details.owner]).toEqual(['STORAGE_FAILED', 'owner', 4_711])
    }
    expect(walk(root).sort()).toEqual(before)
  })

  it.each(places)('G28: %s may be root’s, who can write to everything anyway', async (_, isIt) => {
    await stored()
    expect(seqsOf((await readBack(open(owned(isIt, 0)), 'a')).events)).toEqual([0, 1])
  })

  it('G28: is refused to root as well: what it wrote there, the owner could not read', async () => {
    await stored()
    const port = owned((path) => path.endsWith('.jsonl'), 1_000, 0)
    expect((await refusalOf(() => readBack(open(port), 'a'))).details.owner).toBe(1_000)
  })

  it('G28, G37: a snapshot of theirs is passed over, and the index is read without what they own of it', async () => {
    await stored()
    const snapshot = open(owned((path) => path.includes('snapshot-'), 4_711))
    expect(await snapshot.snapshots.load('a')).toBeUndefined()
    expect(seqsOf((await readBack(snapshot, 'a')).events)).toEqual([0, 1])
    const index = open(owned((path) => path.includes('/index'), 4_711))
    expect((await index.list({ countMax: 2 })).sessions).toMatchObject([{ id: 'a', status: 'ok' }])
  })

  it('G28: a file system that gives what is created to somebody else is refused', async () => {
    await stored()
    const before = walk(root).sort()
    const storage = open(owned((path) => path.includes('000002-000'), 4_711))
    expect((await refusalOf(() => storage.acquire('a', { claim: newClaim() }))).details.owner).toBe(4_711)
    expect(walk(root).filter((path) => !before.includes(path) && !path.includes('000002-000'))).toEqual([])
    expect(seqsOf((await readBack(open(), 'a')).events)).toEqual([0, 1])
  })

  it('G28: a real file of another user is refused', async (context) => {
    if (process.getuid?.() !== 0) skipAloud(context, 'give a file to another user, which needs root')
    await stored()
    const path = join(folderOf(root, 'a'), '000001-000.jsonl')
    chownSync(path, 4_711, 4_711)
    const { code, details } = await refusalOf(() => readBack(open(), 'a'))
    expect([code, details.owner]).toEqual(['STORAGE_FAILED', 4_711])
    chownSync(path, 0, 0)
    expect(seqsOf((await readBack(open(), 'a')).events)).toEqual([0, 1])
  })
})

describe('a file that has several names', () => {
  it('G39: is read as any other: shared with a fork, left by a crash under the name it was made under, or copied as a link', async () => {
    await stored()
    const storage = open()
    await storage.fork({ id: 'a', through: 1 }, headerOf('b'), newClaim())
    await storage.close()
    for (const name of readdirSync(folderOf(root, 'a')).filter((each) => !each.startsWith('head-')))
      expect(lstatSync(join(folderOf(root, 'a'), name)).nlink).toBe(2)
    linkSync(join(folderOf(root, 'a'), 'head-000001'), join(root, 'copy'))
    linkSync(join(root, 'store.json'), join(root, 'tmp-0011223344556677'))
    for (const id of ['a', 'b']) expect(seqsOf((await readBack(open(), id)).events)).toEqual([0, 1])
  })
})

describe('what others can read', () => {
  it('G28: is out of their reach once somebody writes, and is read as it is before', async () => {
    await stored()
    for (const path of walk(root)) chmodSync(path, lstatSync(path).isDirectory() ? 0o755 : 0o644)
    expect(seqsOf((await readBack(open(), 'a')).events)).toEqual([0, 1])
    expect(modeOf(join(root, 'sessions'))).toBe('755')
    await (await open().acquire('a', { claim: newClaim() })).release()
    expect(modeOf(join(root, 'sessions'))).toBe('700')
  })
})

/** A host whose sessions rotate and take snapshots all the time. */
const busy = { segmentSizeBytesMax: 4_096, snapshotEvents: 20, retainEvents: 0 }

async function grow(ctx: Context, session: Session): Promise<void> {
  for (const index of upTo(60)) {
    say(session, `${index} ${'x'.repeat(200)}`)
    await session.flush()
  }
  await ctx.sessions.dispose(session)
}

const namesIn = (folder: string, part: string): string[] =>
  walk(folder).filter((path) => relative(folder, path).includes(part))

describe('everything that is ever written', () => {
  it.each([0o000, 0o022])(
    'M04, G28: is 0700 or 0600 under umask %o: packs, snapshots, the index, recovered/, repairs, salvages and forks',
    async (mask) => {
      const before = process.umask(mask)
      try {
        const ctx = await startJournal(root, busy)
        const { sessionPersistence: stored } = ctx
        await grow(ctx, await stored.create({ id: 'a' }))
        for (const _life of upTo(3)) await grow(ctx, await stored.resume('a'))
        const [snapshot] = namesIn(folderOf(root, 'a'), 'snapshot-').sort().reverse()
        writeFileSync(snapshot!, Buffer.alloc(1_000))
        const newest = (): string =>
          namesIn(folderOf(root, 'a'), '.jsonl')
            .filter((path) => path.endsWith('.jsonl'))
            .sort()
            .at(-1)!
        appendFileSync(newest(), `{"seq":${(await stored.inspect('a')).log.length},"time":`)
        await grow(ctx, await stored.resume('a'))
        expect(namesIn(folderOf(root, 'a'), 'recovered/')).not.toEqual([])
        await ctx.sessions.dispose(await stored.fork('a', { id: 'b' }))
        appendFileSync(newest(), 'no line of a journal\n')
        await stored.salvage('a', { id: 'c' })
        const verdict = await stored.verify('a')
        const { intactThrough = -2 } = verdict as { intactThrough?: number }
        expect(verdict).toMatchObject({ kind: 'damaged', rule: 'R7' })
        await stored.repair('a', { acceptLossAfter: intactThrough })
        await grow(ctx, await stored.resume('a'))
      } finally {
        process.umask(before)
      }
      for (const part of ['c-0', 'snapshot-', 'recovered/0', 'recovered/snapshot-'])
        expect([part, namesIn(join(root, 'sessions', 's-a'), part).length]).not.toEqual([part, 0])
      expect(namesIn(root, 'index/').length).toBeGreaterThan(0)
      for (const path of walk(root))
        expect([path, modeOf(path)]).toEqual([path, lstatSync(path).isDirectory() ? '700' : '600'])
    },
  )
})
