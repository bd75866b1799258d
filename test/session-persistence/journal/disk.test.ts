import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { JournalStorage, systemPort } from '@tidemark/session-persistence/journal'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { appendNext, events, headerOf, newClaim, readBack, seqsOf, upTo } from '../batches.ts'
import { codeOf, refusalOf } from '../refusal.ts'
import { scratch } from '../scratch.ts'

let folder: string
let root: string
const opened: JournalStorage[] = []
const open = (at = root): JournalStorage => {
  const storage = new JournalStorage({ root: at, port: systemPort })
  opened.push(storage)
  return storage
}

beforeEach(() => {
  folder = scratch()
  root = join(folder, 'new', 'root')
})
afterEach(async () => {
  for (const storage of opened.splice(0)) await storage.close()
})

/** Every path under a folder. */
const walk = (path: string): string[] =>
  readdirSync(path, { withFileTypes: true }).flatMap((entry) => {
    const each = join(path, entry.name)
    return entry.isDirectory() ? [each, ...walk(each)] : [each]
  })

const umasked = async (mask: number, work: () => Promise<void>): Promise<void> => {
  const before = process.umask(mask)
  try {
    await work()
  } finally {
    process.umask(before)
  }
}

describe('files on a disk', () => {
  it('constructing a storage, and reading where nothing is, touch nothing', async () => {
    const storage = open()
    expect(await storage.list({ countMax: 10 })).toEqual({ sessions: [] })
    expect(await codeOf(() => storage.read('a'))).toBe('NOT_FOUND')
    expect(await codeOf(() => storage.acquire('a', { claim: newClaim() }))).toBe('NOT_FOUND')
    expect(await codeOf(() => storage.remove('a'))).toBe('NOT_FOUND')
    await storage.close()
    expect(readdirSync(folder)).toEqual([])
  })

  it.each([0o000, 0o022, 0o077, 0o777])(
    'M04, G28: folders are 0700 and files 0600 under umask %o',
    async (mask) => {
      await umasked(mask, async () => {
        const storage = open()
        await appendNext(await storage.create(headerOf('a'), { claim: newClaim() }))
        await appendNext(await storage.acquire('a', { claim: newClaim(), force: true }))
        await appendNext(await storage.fork({ id: 'a', through: 1 }, headerOf('b'), newClaim()))
      })
      const paths = [join(folder, 'new'), root, ...walk(root)]
      expect(paths.length).toBeGreaterThanOrEqual(9)
      for (const path of paths) {
        const stats = lstatSync(path)
        expect([path, (stats.mode & 0o777).toString(8)]).toEqual([path, stats.isDirectory() ? '700' : '600'])
      }
    },
  )

  it('G28: a root that others can write to is refused, for reading too, and nothing is put there', async () => {
    mkdirSync(root, { recursive: true })
    for (const mode of [0o770, 0o702, 0o1777]) {
      chmodSync(root, mode)
      const storage = open()
      expect(await codeOf(() => storage.create(headerOf('a'), { claim: newClaim() }))).toBe('STORAGE_FAILED')
      expect(await codeOf(() => storage.list({ countMax: 1 }))).toBe('STORAGE_FAILED')
    }
    expect(readdirSync(root)).toEqual([])
    chmodSync(root, 0o755)
    await open().create(headerOf('a'), { claim: newClaim() })
  })

  it('M03: a root that is a link works', async () => {
    const real = join(folder, 'real')
    mkdirSync(real, { mode: 0o700 })
    symlinkSync(real, join(folder, 'link'))
    await appendNext(await open(join(folder, 'link')).create(headerOf('a'), { claim: newClaim() }))
    expect((await readBack(open(real), 'a')).events).toHaveLength(1)
    expect(lstatSync(join(folder, 'link')).isSymbolicLink()).toBe(true)
  })

  it('G28: links inside the root are not followed', async () => {
    const storage = open()
    await appendNext(await storage.create(headerOf('a'), { claim: newClaim() }))
    const sessions = join(root, 'sessions')
    symlinkSync(join(sessions, 's-a'), join(sessions, 's-linked'))
    mkdirSync(join(sessions, 's-file'))
    symlinkSync(join(sessions, 's-a', '000001-000.jsonl'), join(sessions, 's-file', '000001-000.jsonl'))
    for (const id of ['linked', 'file']) {
      expect(await codeOf(() => storage.read(id))).toBe('CORRUPT')
      expect(await codeOf(() => storage.acquire(id, { claim: newClaim() }))).toBe('CORRUPT')
    }
    expect(readdirSync(join(sessions, 's-file'))).toEqual(['000001-000.jsonl'])
  })

  it('a root that is a file is refused', async () => {
    writeFileSync(join(folder, 'file'), '')
    for (const at of [join(folder, 'file'), join(folder, 'file', 'below')]) {
      expect(await codeOf(() => open(at).create(headerOf('a'), { claim: newClaim() }))).toBe('STORAGE_FAILED')
    }
  })

  it('G25: reading changes no file, no folder and no time', async () => {
    const storage = open()
    await appendNext(await storage.create(headerOf('a'), { claim: newClaim() }), 3)
    await storage.close()
    const state = () =>
      walk(root).map((path) => [path, statSync(path, { bigint: true }).mtimeNs, lstatSync(path).size])
    const before = state()
    const reader = open()
    await readBack(reader, 'a')
    await reader.list({ countMax: 10 })
    await reader.verify('a')
    expect(state()).toEqual(before)
  })

  it('many who open a new root at once agree on one store', async () => {
    const storages = upTo(6).map(() => open())
    await Promise.all(
      storages.map((storage, index) => storage.create(headerOf(`s${index}`), { claim: newClaim() })),
    )
    expect((await open().list({ countMax: 10 })).sessions).toHaveLength(6)
    expect(readdirSync(root).sort()).toEqual(['index', 'sessions', 'store.json'])
  })

  it('a store of a newer format, or with another way of locking, is not touched', async () => {
    const { sealLine } = await import('@tidemark/session-persistence/journal')
    for (const change of [{ format: 2 }, { lock: 'other' }]) {
      const storage = open(join(folder, JSON.stringify(change)))
      await storage.create(headerOf('a'), { claim: newClaim() })
      const path = join(folder, JSON.stringify(change), 'store.json')
      const { sum: _, ...fields } = (
        JSON.parse(readFileSync(path, 'utf8')) as { store: Record<string, unknown> }
      ).store
      writeFileSync(path, `${sealLine('store', { ...fields, ...change }).text}\n`)
      for (const ask of [
        () => storage.read('a'),
        () => storage.create(headerOf('b'), { claim: newClaim() }),
      ]) {
        expect(await codeOf(ask)).toBe('UNSUPPORTED_FORMAT')
      }
    }
  })

  it('C03, G26: a list of 21 good sessions shows the bad ones beside them, and why', async () => {
    const storage = open()
    for (const index of upTo(21))
      await storage.create(headerOf(`good${index}`), { claim: newClaim(), seed: events(0, 1) })
    const sessions = join(root, 'sessions')
    const bad = (name: string, content?: string): void => {
      mkdirSync(join(sessions, name))
      if (content !== undefined) writeFileSync(join(sessions, name, '000001-000.jsonl'), content)
    }
    bad('s-garbage', 'this is no header\n{"seq":0}\n')
    bad('s-zero', '')
    bad('s-empty')
    bad('Foreign')
    writeFileSync(join(sessions, 's-plain'), 'x')
    mkdirSync(join(sessions, 'tmp-left-over'))
    const { sessions: found, next } = await storage.list({ countMax: 100 })
    expect(next).toBe(undefined)
    expect(found.filter(({ status }) => status === 'ok')).toHaveLength(21)
    const damaged = found.filter((summary) => summary.status === 'damaged')
    expect(damaged.map(({ id }) => id)).toEqual(['Foreign', 'empty', 'garbage', 'plain', 'zero'])
    for (const { reason } of damaged) expect(reason).not.toBe('')
    expect(await codeOf(() => storage.read('garbage'))).toBe('CORRUPT')
  })

  it('a session whose folder was moved under another name is not that session', async () => {
    const storage = open()
    await storage.create(headerOf('a'), { claim: newClaim(), seed: events(0, 1) })
    execFileSync('cp', ['-r', join(root, 'sessions', 's-a'), join(root, 'sessions', 's-b')])
    const refusal = await refusalOf(() => storage.read('b'))
    expect(refusal).toMatchObject({ code: 'CORRUPT', details: { reason: 'belongs to another session' } })
    expect(seqsOf((await readBack(storage, 'a')).events)).toEqual(upTo(2))
  })

  it('a writer whose folder was replaced is fenced', async () => {
    const storage = open()
    const lease = await storage.create(headerOf('a'), { claim: newClaim() })
    const path = join(root, 'sessions', 's-a')
    execFileSync('cp', ['-r', path, `${path}2`])
    execFileSync('rm', ['-r', path])
    execFileSync('mv', [`${path}2`, path])
    expect(await codeOf(() => appendNext(lease))).toBe('FENCED')
  })
})
