import { spawnSync } from 'node:child_process'
import * as files from 'node:fs'
import { join } from 'node:path'
import { JournalStorage, systemPort } from '@tidemark/session-persistence/journal'
import type { Lease } from '@tidemark/session-persistence'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { appendNext, headerOf, newClaim, readBack } from '../batches.ts'
import { folderOf } from '../files.ts'
import { codeOf, refusalOf } from '../refusal.ts'
import { scratch } from '../scratch.ts'
import { MemoryPort } from './memory-port.ts'

const { appendFileSync, chmodSync, cpSync, existsSync, mkdirSync, readdirSync } = files
const { renameSync, rmSync, symlinkSync, writeFileSync } = files

let base: string
let root: string
const opened: JournalStorage[] = []
const open = (at = root): JournalStorage => {
  const storage = new JournalStorage({ root: at, port: systemPort })
  opened.push(storage)
  return storage
}
const claim = (at = root, force = false): Promise<Lease> =>
  open(at).acquire('a', { claim: newClaim(), force })
/** The beginning of an event that nobody was told of. */
const tear = (): void =>
  appendFileSync(join(folderOf(root, 'a'), '000001-000.jsonl'), '{"seq":1,"time":1,"type":"x/y","data":{"to')

beforeEach(async () => {
  base = scratch()
  root = join(base, 'root')
  const lease = await open().create(headerOf('a'), { claim: newClaim() })
  await appendNext(lease)
  await lease.release()
})
afterEach(async () => {
  for (const storage of opened.splice(0)) await storage.close()
})

describe('what leads out of the root, or what others can write to,', () => {
  const asked = [
    () => open().create(headerOf('b'), { claim: newClaim() }),
    () => claim(),
    () => readBack(open(), 'a'),
    () => open().list({ countMax: 9 }),
    () => open().remove('a'),
  ]

  it('is refused where all sessions should be, and nothing is written there', async () => {
    const outside = join(base, 'outside')
    renameSync(join(root, 'sessions'), outside)
    symlinkSync(outside, join(root, 'sessions'))
    const before = [readdirSync(outside), readdirSync(join(outside, 's-a'))]
    for (const ask of asked) expect(await codeOf(ask)).toBe('STORAGE_FAILED')
    expect([readdirSync(outside), readdirSync(join(outside, 's-a'))]).toEqual(before)
  })

  it('is refused where a session’s torn bytes should go, and nothing is written there', async () => {
    const outside = join(base, 'outside')
    mkdirSync(outside)
    tear()
    symlinkSync(outside, join(folderOf(root, 'a'), 'recovered'))
    expect(await codeOf(() => claim())).toBe('STORAGE_FAILED')
    expect(readdirSync(outside)).toEqual([])
    expect((await readBack(open(), 'a')).events).toHaveLength(1)
  })

  it.runIf(systemPort.hasModes)('is refused by its mode as well', async () => {
    chmodSync(join(root, 'sessions'), 0o777)
    for (const ask of asked)
      expect(await refusalOf(ask)).toMatchObject({ code: 'STORAGE_FAILED', details: { mode: 0o777 } })
    chmodSync(join(root, 'sessions'), 0o700)
    tear()
    const aside = join(folderOf(root, 'a'), 'recovered')
    mkdirSync(aside)
    chmodSync(aside, 0o777)
    expect(await codeOf(() => claim())).toBe('STORAGE_FAILED')
    expect(readdirSync(aside)).toEqual([])
  })
})

describe('a store that another process makes at this moment', () => {
  it('is not taken for one that lost its file', async () => {
    const disk = new MemoryPort()
    const other = new JournalStorage({ root: '/journal', port: disk })
    let made = false
    const racing = Object.assign(Object.create(disk) as typeof disk, {
      open: async (path: string, how: 'read' | 'create') => {
        if (path !== '/journal/store.json' || how !== 'read' || made) return disk.open(path, how)
        made = true
        const missing = await disk.open(path, how).catch((error: unknown) => error)
        await other.create(headerOf('other'), { claim: newClaim() })
        throw missing
      },
    })
    await disk.mkdir('/journal')
    const storage = new JournalStorage({ root: '/journal', port: racing })
    await storage.create(headerOf('b'), { claim: newClaim() })
    expect((await storage.list({ countMax: 9 })).sessions).toHaveLength(2)
  })
})

describe.runIf(process.platform === 'linux')('a copy of a store', () => {
  it.each([
    ['as it is', ['-a']],
    ['with the same files, linked', ['-al']],
  ])('%s is another one: that the original is open says nothing of it', async (_, how) => {
    const copy = join(base, 'copy')
    spawnSync('cp', [...how, root, copy])
    const lease = await claim()
    await (await claim(copy)).release()
    expect(await codeOf(() => claim())).toBe('LOCKED')
    await lease.release()
  })

  it('is what a store is not that is seen by another path, or that got another name', async () => {
    const lease = await claim()
    const seen = join(base, 'seen')
    symlinkSync(root, seen)
    expect(await codeOf(() => claim(seen))).toBe('LOCKED')
    rmSync(seen)
    renameSync(root, seen)
    expect(await codeOf(() => claim(seen))).toBe('LOCKED')
    renameSync(seen, root)
    await lease.release()
  })
})

describe('remove', () => {
  const place = (): string => folderOf(root, 'a')
  const removed = async (): Promise<void> => {
    await open().remove('a', { unlessHeld: true })
    expect(readdirSync(join(root, 'sessions'))).toEqual([])
    await (await open().create(headerOf('a'), { claim: newClaim() })).release()
  }

  it.runIf(process.platform === 'linux')('of what a living writer holds is LOCKED, if asked so', async () => {
    const lease = await claim()
    const { code, details } = await refusalOf(() => open().remove('a', { unlessHeld: true }))
    expect([code, details.holder?.pid]).toEqual(['LOCKED', process.pid])
    await appendNext(lease)
    await open().remove('a')
    expect(await codeOf(() => appendNext(lease))).toBe('FENCED')
    await lease.release()
  })

  it.each<[string, () => void]>([
    ['a sound session', () => undefined],
    ['a session that is damaged', () => writeFileSync(join(place(), '000001-000.jsonl'), 'x\n')],
    ['a session without a byte', () => writeFileSync(join(place(), '000001-000.jsonl'), '')],
    [
      'an empty folder',
      () => {
        rmSync(place(), { recursive: true })
        mkdirSync(place())
      },
    ],
    [
      'a file',
      () => {
        rmSync(place(), { recursive: true })
        writeFileSync(place(), 'x')
      },
    ],
    [
      'a link, and not what it leads to',
      () => {
        renameSync(place(), join(base, 'moved'))
        symlinkSync(join(base, 'moved'), place())
      },
    ],
    [
      'a folder with folders of somebody else',
      () => mkdirSync(join(place(), 'head-000009', 'deep'), { recursive: true }),
    ],
  ])('takes away %s, and its id is free', async (what, spoil) => {
    spoil()
    await removed()
    if (what.startsWith('a link')) expect(existsSync(join(base, 'moved', '000001-000.jsonl'))).toBe(true)
  })

  it('of nothing is NOT_FOUND', async () => {
    rmSync(place(), { recursive: true })
    expect(await codeOf(() => open().remove('a', { unlessHeld: true }))).toBe('NOT_FOUND')
  })
})

describe('verify', () => {
  it('answers of whatever stands in a session’s place', async () => {
    const lone = join(base, 'lone')
    cpSync(root, lone, { recursive: true })
    const place = folderOf(root, 'a')
    rmSync(place, { recursive: true })
    mkdirSync(place)
    chmodSync(place, 0o700)
    const damaged = { kind: 'damaged', code: 'CORRUPT', intactThrough: -1 }
    expect(await open().verify('a')).toMatchObject(damaged)
    rmSync(place, { recursive: true })
    writeFileSync(place, '')
    expect(await open().verify('a')).toMatchObject(damaged)
    rmSync(place)
    symlinkSync(folderOf(lone, 'a'), place)
    expect(await open().verify('a')).toMatchObject(damaged)
  })
})
