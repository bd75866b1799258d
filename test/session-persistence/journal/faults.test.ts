import { JournalStorage, type JournalPort } from '@tidemark/session-persistence/journal'
import { isSessionError } from '@tidemark/session-core'
import type { Lease } from '@tidemark/session-persistence'
import { describe, expect, it } from 'vitest'
import { append, appendNext, events, headerOf, newClaim, readBack, seqsOf, upTo } from '../batches.ts'
import { hostOn } from '../foreign-host.ts'
import { codeOf, refusalOf } from '../refusal.ts'
import { FaultyPort, type FaultPlan } from './faulty-port.ts'
import { MemoryPort, systemError } from './memory-port.ts'

const root = '/new/journal'

interface Told {
  /** What was acknowledged, by session: its length. */
  readonly acknowledged: Map<string, number>
  readonly removed: Set<string>
  error?: unknown
}

/** Everything that the journal does with files, until something fails. */
async function story(storage: JournalStorage): Promise<Told> {
  const told: Told = { acknowledged: new Map(), removed: new Set() }
  const leases: Lease[] = []
  const note = (lease: Lease): void => void told.acknowledged.set(lease.header.id, lease.tail.seq + 1)
  const write = async (lease: Lease, count: number): Promise<void> => {
    await appendNext(lease, count)
    note(lease)
  }
  try {
    leases.push(await storage.create(headerOf('a'), { claim: newClaim() }))
    note(leases[0]!)
    await write(leases[0]!, 2)
    await write(leases[0]!, 1)
    await leases[0]!.release()
    leases.push(await storage.acquire('a', { claim: newClaim() }))
    await write(leases[1]!, 2)
    leases.push(await storage.fork({ id: 'a', through: 2 }, headerOf('b'), newClaim()))
    note(leases[2]!)
    await write(leases[2]!, 1)
    await readBack(storage, 'a')
    await storage.list({ countMax: 10 })
    await storage.verify('a')
    told.removed.add('b')
    await storage.remove('b')
    await storage.close()
  } catch (error) {
    told.error = error
    // Whatever failed, a lease that failed writes no more; the others are as they were.
    for (const lease of leases) await Promise.allSettled([appendNext(lease)])
    await Promise.allSettled([storage.close()])
  }
  return told
}

async function tellWith(plan?: FaultPlan): Promise<{ port: FaultyPort; disk: MemoryPort; told: Told }> {
  const disk = new MemoryPort()
  const port = new FaultyPort(disk, plan)
  return { port, disk, told: await story(new JournalStorage({ root, port: port.wrapped })) }
}

async function expectHonest(disk: MemoryPort, { acknowledged, removed }: Told): Promise<void> {
  const storage = new JournalStorage({ root, port: disk })
  for (const [id, length] of acknowledged) {
    if (removed.has(id)) continue
    try {
      const found = seqsOf((await readBack(storage, id)).events)
      expect(found).toEqual(upTo(found.length))
      expect(found.length).toBeGreaterThanOrEqual(length)
    } catch (error) {
      if (!isSessionError(error) || error.code !== 'CORRUPT') throw error
      // A batch that was cut short stands after everything that was acknowledged.
      expect(error.details.intactThrough).toBeGreaterThanOrEqual(length - 1)
    }
  }
  for (const summary of (await storage.list({ countMax: 10 })).sessions) {
    if (summary.status === 'ok')
      expect(summary.lastSeq + 1).toBeGreaterThanOrEqual(acknowledged.get(summary.id) ?? 0)
  }
}

describe('a fault at every call', () => {
  it('without a fault the story is told to its end, and nothing stays open', async () => {
    const { told, port } = await tellWith()
    expect(told.error).toBe(undefined)
    expect(port.openFiles).toBe(0)
    expect(port.calls.length).toBeGreaterThan(100)
  })

  it.each([
    ['EIO', false],
    ['EIO', true],
    ['ENOSPC', true],
    ['EMFILE', false],
    ['short', false],
    ['short', true],
  ] as const)(
    'G16: %s, for good %s: a typed error, nothing acknowledged in vain, nothing left open',
    async (fault, forGood) => {
      const calls = (await tellWith()).port.calls
      let failed = 0
      for (const at of calls.keys()) {
        if (fault === 'short' && calls[at] !== 'write') continue
        if (fault === 'EMFILE' && !['open', 'create', 'readdir'].includes(calls[at]!)) continue
        const { told, port, disk } = await tellWith({ at, fault, forGood })
        const where = `call ${at}, ${calls[at]}`
        if (told.error !== undefined) {
          failed += 1
          if (!isSessionError(told.error))
            throw new TypeError(`${where}: an untyped error`, { cause: told.error })
          expect(['STORAGE_FAILED', 'OUTCOME_UNKNOWN'], where).toContain(told.error.code)
        }
        expect(port.openFiles, where).toBe(0)
        await expectHonest(disk, told)
      }
      // A write that falls short once is gone on with; on a medium that takes nothing more, it fails. What is written
      // last is a line of the index, which nobody misses.
      if (fault === 'short')
        expect(failed).toBe(forGood ? calls.filter((name) => name === 'write').length - 1 : 0)
      else if (fault === 'EMFILE')
        expect(failed).toBeGreaterThan(
          calls.filter((name) => ['open', 'create', 'readdir'].includes(name)).length / 2,
        )
      else expect(failed).toBeGreaterThan(calls.length / 2)
    },
    60_000,
  )

  it('K01, G12: after a failed write the lease is over: no later append, even when the disk has room again', async () => {
    const disk = new MemoryPort()
    const quiet = new FaultyPort(disk)
    const before = new JournalStorage({ root, port: quiet.wrapped })
    await appendNext(await before.create(headerOf('a'), { claim: newClaim() }), 3)
    for (const [name, code] of [
      ['write', 'STORAGE_FAILED'],
      ['sync', 'OUTCOME_UNKNOWN'],
    ] as const) {
      const copy = disk.copy()
      const probe = new FaultyPort(copy.copy())
      await appendNext(
        await new JournalStorage({ root, port: probe.wrapped }).acquire('a', { claim: newClaim() }),
      )
      const port = new FaultyPort(copy, {
        at: probe.calls.lastIndexOf(name),
        fault: 'ENOSPC',
        forGood: false,
      })
      const lease = await new JournalStorage({ root, port: port.wrapped }).acquire('a', { claim: newClaim() })
      const refusal = await refusalOf(() => appendNext(lease))
      expect(refusal).toMatchObject({ code, cause: { code: 'ENOSPC' }, details: { intactThrough: 2 } })
      const calls = port.calls.length
      expect(await codeOf(() => appendNext(lease))).toBe('STORAGE_FAILED')
      expect(await codeOf(() => append(lease, events(4, 4)))).toBe('STORAGE_FAILED')
      expect(port.calls.length).toBe(calls)
      await lease.release()
      expect(port.openFiles).toBe(0)
    }
  })

  it('a claim that fails leaves a session that can be claimed', async () => {
    const disk = new MemoryPort()
    const storage = new JournalStorage({ root, port: disk })
    await appendNext(await storage.create(headerOf('a'), { claim: newClaim() }), 3)
    const probe = new FaultyPort(disk.copy())
    await new JournalStorage({ root, port: probe.wrapped }).acquire('a', { claim: newClaim() })
    for (const fault of ['EIO', 'short'] as const) {
      for (const at of probe.calls.keys()) {
        for (const forGood of [false, true]) {
          const copy = disk.copy()
          const port = new FaultyPort(copy, { at, fault, forGood })
          const failing = new JournalStorage({ root, port: port.wrapped })
          await Promise.allSettled([failing.acquire('a', { claim: newClaim() })])
          await Promise.allSettled([failing.close()])
          expect(port.openFiles).toBe(0)
          const later = await new JournalStorage({ root, port: copy }).acquire('a', { claim: newClaim() })
          await appendNext(later)
          expect(seqsOf((await readBack(new JournalStorage({ root, port: copy }), 'a')).events)).toEqual(
            upTo(4),
          )
        }
      }
    }
  })
})

describe('a disk that cannot be written to', () => {
  const changes = [
    'mkdir',
    'rmdir',
    'rename',
    'link',
    'unlink',
    'chmod',
    'syncFolder',
    'write',
    'sync',
    'fchmod',
  ]

  /** A port on which every change fails. */
  const readOnly = (disk: JournalPort): JournalPort => {
    const { wrapped } = new FaultyPort(disk, { names: changes, fault: 'EROFS' })
    return {
      ...wrapped,
      open: (path, how) => (how === 'read' ? wrapped.open(path, how) : Promise.reject(systemError('EROFS'))),
    }
  }

  it('G25: a host follows and pages, and nothing in the store changes', async () => {
    const disk = new MemoryPort()
    const before = new JournalStorage({ root, port: disk, segmentSizeBytesMax: 4_096 })
    const lease = await before.create(headerOf('a'), { claim: newClaim() })
    await appendNext(lease, 3)
    const port = new FaultyPort(disk, { names: [...changes, 'create'], fault: 'EROFS' })
    const ctx = await hostOn(new JournalStorage({ root, port: port.wrapped }))
    const files = disk.files()
    const { events } = await ctx.sessionPersistence.history('a', { from: 0, order: 'forward' })
    expect(seqsOf(events)).toEqual(upTo(3))
    const seqs: number[] = []
    const stream = ctx.sessionPersistence.follow('a', { pollMs: 10 })
    while (seqs.length < 3) seqs.push(...seqsOf((await stream.next()).value?.events ?? []))
    await stream.return()
    expect(seqs).toEqual(upTo(3))
    expect(disk.files()).toEqual(files)
    // Nothing was tried, either.
    expect(port.calls.filter((name) => changes.includes(name) || name === 'create')).toEqual([])
  })

  it('G25: read, list and verify work, and whatever would change something is refused', async () => {
    const disk = new MemoryPort()
    const before = new JournalStorage({ root, port: disk })
    await appendNext(await before.create(headerOf('a'), { claim: newClaim() }), 3)
    const storage = new JournalStorage({ root, port: readOnly(disk) })
    expect(seqsOf((await readBack(storage, 'a')).events)).toEqual(upTo(3))
    expect((await storage.list({ countMax: 10 })).sessions).toHaveLength(1)
    expect(await storage.verify('a')).toMatchObject({ kind: 'intact' })
    const asked = [
      () => storage.create(headerOf('b'), { claim: newClaim() }),
      () => storage.acquire('a', { claim: newClaim() }),
      () => storage.fork({ id: 'a', through: 1 }, headerOf('b'), newClaim()),
      () => storage.remove('a'),
    ]
    for (const ask of asked)
      expect(await refusalOf(ask)).toMatchObject({ code: 'STORAGE_FAILED', cause: { code: 'EROFS' } })
    expect(seqsOf((await readBack(storage, 'a')).events)).toEqual(upTo(3))
  })
})
