import { isSessionError } from '@tidemark/session-core'
import type { SalvagedRecord } from '@tidemark/session-persistence'
import { JournalStorage, type JournalPort } from '@tidemark/session-persistence/journal'
import {
  SimulatedDisk,
  type DiskCall,
  type DiskFault,
  type DiskImage,
} from '@tidemark/session-persistence/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { withNothingUnsynced } from '../../../packages/session-persistence/src/testkit/crash/states.ts'
import { durableFile, pathsOf } from '../../../packages/session-persistence/src/testkit/disk/image.ts'
import { append, appendNext, events, headerOf, newClaim, readBack, seqsOf, upTo } from '../batches.ts'

const open = (port: JournalPort): JournalStorage => new JournalStorage({ root: '/journal', port })

const eio = { kind: 'refused', code: 'EIO' } as const

/** What a call can meet. */
function faultsOf({ name }: DiskCall): DiskFault[] {
  if (name === 'write') return [eio, { kind: 'short' }, { kind: 'refused', code: 'ENOSPC' }]
  if (name === 'sync')
    return [
      { ...eio, pages: 'clean' },
      { ...eio, pages: 'dropped' },
    ]
  return [eio]
}

const segmentsIn = (image: DiskImage): Map<string, Buffer> =>
  new Map([...new SimulatedDisk({ image }).files()].filter(([path]) => path.endsWith('.jsonl')))

/** Two epochs of five batches each, an event in each, closed. */
async function sound(): Promise<DiskImage> {
  const disk = new SimulatedDisk()
  let lease = await open(disk).create(headerOf('a'), { claim: newClaim() })
  for (const seq of upTo(10)) {
    if (seq === 5) lease = await open(disk).acquire('a', { claim: newClaim() })
    await append(lease, events(seq, seq))
    if (seq % 5 === 4) await lease.release()
  }
  return disk.image()
}

/** Damage to the event of seq 7: what a repair keeps ends at 6. */
function damaged(image: DiskImage): DiskImage {
  for (const [path, inode, node] of pathsOf(image)) {
    if (node.kind !== 'file' || !path.endsWith('/000002-000.jsonl')) continue
    const content = Buffer.from(node.content)
    const at = content.indexOf('{"seq":7,') + 40
    content[at] = content[at]! ^ 1
    return { ...image, nodes: new Map(image.nodes).set(inode, durableFile(content)) }
  }
  throw new TypeError('there is no second segment')
}

const acceptLossAfter = 6

interface Met {
  readonly name: string
  /** Nothing: the call was not told that anything failed. */
  readonly code: string | undefined
  readonly disk: SimulatedDisk
}

/** The work on a damaged log, once for each way in which one call of it fails. */
async function* failing(image: DiskImage, work: (storage: JournalStorage) => Promise<unknown>) {
  const calls: DiskCall[] = []
  const healthy = new SimulatedDisk({ image })
  healthy.onCall = (call) => void calls.push(call)
  await work(open(healthy))
  for (const call of calls) {
    for (const fault of faultsOf(call)) yield await meet(image, { call, fault, work })
  }
}

interface Meeting {
  readonly call: DiskCall
  readonly fault: DiskFault
  readonly work: (storage: JournalStorage) => Promise<unknown>
}

async function meet(image: DiskImage, { call, fault, work }: Meeting): Promise<Met> {
  const disk = new SimulatedDisk({ image })
  const name = `${JSON.stringify(fault)} at call ${call.index}, ${call.name} ${call.path}`
  let isMet = false
  disk.onCall = ({ index }) => {
    if (index !== call.index) return undefined
    isMet = true
    return fault
  }
  const storage = open(disk)
  const code = await work(storage).then(
    () => undefined,
    (error: unknown) => (isSessionError(error) ? error.code : String(error)),
  )
  disk.onCall = undefined
  await storage.close()
  expect(isMet, name).toBe(true)
  expect(disk.openFiles, name).toBe(0)
  return { name, code, disk }
}

const repair = (storage: JournalStorage) => storage.repair('a', { claim: newClaim(), acceptLossAfter })

const codeOfRead = (port: JournalPort): Promise<string | undefined> =>
  readBack(open(port), 'a').then(
    () => undefined,
    (error: unknown) => (isSessionError(error) ? error.code : String(error)),
  )

let image: DiskImage
beforeAll(async () => {
  image = damaged(await sound())
})

/** The log is as damaged as it was, and can be repaired; or it was repaired, and goes on. */
async function expectWhole(left: DiskImage, { name, code }: Met): Promise<boolean> {
  const disk = new SimulatedDisk({ image: left })
  for (const [path, content] of segmentsIn(image))
    expect(disk.files().get(path)?.equals(content), name).toBe(true)
  const before = await codeOfRead(disk)
  const isRepaired = before === undefined
  if (code === undefined) expect(isRepaired, name).toBe(true)
  if (!isRepaired) {
    expect(before, name).toBe('CORRUPT')
    await repair(open(disk))
  }
  expect(seqsOf((await readBack(open(disk), 'a')).events), name).toEqual(upTo(acceptLossAfter + 1))
  const lease = await open(disk).acquire('a', { claim: newClaim() })
  expect(lease.recovered, name).toMatchObject([{ reason: 'accepted-loss', lastSeq: acceptLossAfter }])
  await appendNext(lease)
  await lease.release()
  expect((await readBack(open(disk), 'a')).events.length, name).toBe(acceptLossAfter + 2)
  return isRepaired
}

describe('the disk that fails once', { timeout: 600_000 }, () => {
  it('in a repair costs nothing: it is told, and the log is as it was, or repaired', async () => {
    const codes = new Map<string, number>()
    const kept = { repaired: 0, asBefore: 0 }
    for await (const met of failing(image, repair)) {
      const { code = 'none', disk, name } = met
      codes.set(code, (codes.get(code) ?? 0) + 1)
      expect(['none', 'STORAGE_FAILED', 'OUTCOME_UNKNOWN'], name).toContain(code)
      for (const left of [disk.image(), withNothingUnsynced(disk.image())])
        kept[(await expectWhole(left, met)) ? 'repaired' : 'asBefore'] += 1
    }
    expect(codes.get('STORAGE_FAILED')).toBeGreaterThan(50)
    expect(kept.repaired).toBeGreaterThan(10)
    expect(kept.asBefore).toBeGreaterThan(50)
  })

  it('in a salvage is told, and changes nothing', async () => {
    const records: SalvagedRecord[][] = []
    const salvage = async (storage: JournalStorage): Promise<void> => {
      const found: SalvagedRecord[] = []
      for await (const record of (await storage.salvage('a')).records) found.push(record)
      records.push(found)
    }
    let refused = 0
    for await (const { name, code, disk } of failing(image, salvage)) {
      expect([undefined, 'STORAGE_FAILED'], name).toContain(code)
      refused += code === undefined ? 0 : 1
      expect(disk.changes, name).toBe(0)
    }
    expect(refused).toBeGreaterThan(10)
    // Whoever is not told of a failure is given everything.
    expect(records[0]!.length).toBeGreaterThan(8)
    for (const found of records) expect(found).toEqual(records[0])
  })
})
