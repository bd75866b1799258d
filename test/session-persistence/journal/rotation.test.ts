import { isSessionError } from '@tidemark/session-core'
import { encodeEvent, type Lease, type SessionStorage } from '@tidemark/session-persistence'
import { JournalStorage, type JournalPort } from '@tidemark/session-persistence/journal'
import { SimulatedDisk, type DiskImage } from '@tidemark/session-persistence/testkit'
import { describe, expect, it } from 'vitest'
import { append, encoded, headerOf, newClaim, readBack, seqsOf, upTo } from '../batches.ts'
import { codeOf } from '../refusal.ts'

const root = '/journal'
const folder = `${root}/sessions/s-a`
const small = 4_096

type Options = { readonly sizeBytes?: number; readonly durability?: 'lazy' | 'strict' }

const open = (
  disk: SimulatedDisk,
  { sizeBytes = small, durability = 'lazy' }: Options = {},
): SessionStorage =>
  new JournalStorage({ root, port: disk, segmentSizeBytesMax: sizeBytes, durability, compress: false })
const again = (image: DiskImage): SimulatedDisk => new SimulatedDisk({ image })
const create = (storage: SessionStorage): Promise<Lease> =>
  storage.create(headerOf('a'), { claim: newClaim() })
const acquire = (storage: SessionStorage): Promise<Lease> => storage.acquire('a', { claim: newClaim() })

/** Appends batches of one event each, of about so many bytes. */
async function fill(lease: Lease, count: number, sizeBytes = 1_000): Promise<void> {
  for (const _ of upTo(count)) {
    const seq = lease.tail.seq + 1
    await append(lease, [encoded(seq, `${seq} `.padEnd(sizeBytes, 'x'))])
  }
}

const segmentsOf = (disk: SimulatedDisk): string[] =>
  [...disk.files().keys()]
    .filter((path) => path.endsWith('.jsonl'))
    .map((path) => path.slice(folder.length + 1))
    .sort()

const headerIn = (disk: SimulatedDisk, name: string) =>
  JSON.parse(disk.files().get(`${folder}/${name}`)!.toString().split('\n')[0]!).segment

async function expectWhole(disk: SimulatedDisk, count: number): Promise<void> {
  expect(seqsOf((await readBack(open(again(disk.image())), 'a')).events)).toEqual(upTo(count))
  expect((await open(again(disk.image())).verify('a')).kind).toBe('intact')
}

/** A segment's content, on a disk of its own. */
async function withFile(
  disk: SimulatedDisk,
  name: string,
  change: (content: Buffer) => Buffer,
): Promise<SimulatedDisk> {
  const changed = again(disk.image())
  const path = `${folder}/${name}`
  const content = change(changed.files().get(path)!)
  await changed.unlink(path)
  const file = await changed.open(path, 'create')
  await file.write(content, 0)
  await file.close()
  return changed
}

describe('a segment that has grown beyond its size', () => {
  it.each([1, 600, 1_000, 4_096, 5_000, 20_000])(
    'of %i bytes is followed by the next one',
    async (sizeBytes) => {
      const disk = new SimulatedDisk()
      const lease = await create(open(disk, { sizeBytes }))
      await fill(lease, 24)
      const names = segmentsOf(disk)
      expect(names).toEqual(
        upTo(names.length).map((index) => `000001-${String(index).padStart(3, '0')}.jsonl`),
      )
      for (const name of names.slice(0, -1)) {
        const { length } = disk.files().get(`${folder}/${name}`)!
        expect(length).toBeGreaterThan(sizeBytes)
        expect(length).toBeLessThan(sizeBytes + 2_500)
      }
      await expectWhole(disk, 24)
      await lease.release()
      await expectWhole(disk, 24)
    },
  )

  it('is sealed by name, length, seq and digest, and the next one says where its first batch ends', async () => {
    const disk = new SimulatedDisk()
    const lease = await create(open(disk))
    await fill(lease, 3)
    const { tail } = lease
    const { length } = disk.files().get(`${folder}/000001-000.jsonl`)!
    await append(lease, [encoded(3), encoded(4), encoded(5)])
    const { predecessor, firstSeq, firstTo, rotation, epoch } = headerIn(disk, '000001-001.jsonl')
    expect(predecessor).toEqual({ segment: '000001-000.jsonl', bytes: length, ...tail })
    expect({ firstSeq, firstTo, rotation, epoch }).toEqual({ firstSeq: 3, firstTo: 5, rotation: 1, epoch: 1 })
    const first = headerIn(disk, '000001-000.jsonl')
    const second = headerIn(disk, '000001-001.jsonl')
    expect(second.writer).toEqual(first.writer)
    expect(second.session).toEqual(first.session)
    expect(second.salt).not.toBe(first.salt)
  })

  it('is proven by the head before the first batch of the next one is acknowledged', async () => {
    const disk = new SimulatedDisk()
    const lease = await create(open(disk))
    await fill(lease, 4)
    expect(disk.files().get(`${folder}/head-000001`)?.toString()).toContain('"segment":"000001-001.jsonl"')
  })

  it('grows on where a header has no room for more', async () => {
    const born = new SimulatedDisk()
    await open(born).create(headerOf('a', { meta: { text: 'x'.repeat(228_000) } }), { claim: newClaim() })
    const carrying = async (length: number): Promise<{ disk: SimulatedDisk; lease: Lease; room: number }> => {
      const disk = again(born.image())
      const claim = { ...newClaim(), carry: ['x'.repeat(length)] }
      const lease = await open(disk).acquire('a', { claim })
      const header = disk.files().get(`${folder}/000002-000.jsonl`)!.indexOf(10) + 1
      return { disk, lease, room: 262_144 - header }
    }
    const { room } = await carrying(30_000)
    for (const [left, segments] of [
      [0, 2],
      [500, 3],
    ] as const) {
      const { disk, lease } = await carrying(30_000 + room - left)
      await append(lease, [encoded(0)])
      await append(lease, [encoded(1)])
      expect(segmentsOf(disk).length).toBeGreaterThanOrEqual(segments)
      expect(segmentsOf(disk).includes('000002-001.jsonl')).toBe(segments === 3)
      await expectWhole(disk, 2)
    }
  })

  it('a claim goes on in an epoch of its own, wherever the one before had got', async () => {
    for (const count of [3, 4, 5, 9]) {
      const disk = new SimulatedDisk()
      const first = await create(open(disk))
      await fill(first, count)
      const taker = await acquire(open(disk))
      expect(taker.epoch).toBe(2)
      expect(taker.tail).toEqual(first.tail)
      await fill(taker, 5)
      await expectWhole(disk, count + 5)
      expect(await codeOf(() => append(first, [encoded(count)]))).toBe('FENCED')
      await expectWhole(disk, count + 5)
    }
  })

  it('a batch that comes again is acknowledged and not appended, in whichever segment it stands', async () => {
    const disk = new SimulatedDisk()
    const lease = await create(open(disk))
    await fill(lease, 3)
    const batch = [encoded(3, 'once')]
    const terms = { expectedTail: lease.tail, epoch: 1, batchId: 'again' }
    await lease.append(batch, terms)
    const { tail } = lease
    expect(await lease.append(batch, terms)).toEqual({ tail, durable: 3 })
    const taker = await acquire(open(disk))
    expect((await taker.append(batch, { ...terms, epoch: 2 })).tail).toEqual(tail)
  })

  it('a fork holds what its parent has in many segments', async () => {
    const disk = new SimulatedDisk()
    const storage = open(disk)
    await fill(await create(storage), 12)
    const header = headerOf('b', { parent: { id: 'a', seq: 9 }, forkedAt: [9] })
    await storage.fork({ id: 'a', through: 9 }, header, newClaim())
    expect(seqsOf((await readBack(storage, 'b')).events)).toEqual(upTo(10))
  })

  it('a recovery that no event tells yet is named in each segment until one does', async () => {
    const disk = new SimulatedDisk()
    await fill(await create(open(disk)), 1)
    const torn = await withFile(disk, '000001-000.jsonl', (content) =>
      Buffer.concat([content, Buffer.from('{"seq":1,')]),
    )
    const lease = await acquire(open(torn))
    expect(lease.recovered).toHaveLength(1)
    await fill(lease, 8)
    expect((await acquire(open(again(torn.image())))).recovered).toEqual(lease.recovered)
    const event = { seq: lease.tail.seq + 1, time: 1, type: 'session/recovered', data: lease.recovered![0]! }
    await append(lease, [encodeEvent(event)])
    await fill(lease, 8)
    expect((await acquire(open(torn))).recovered).toEqual([])
  })
})

describe('a rotation that a crash cut short', () => {
  it('at any byte is passed over, and the log ends in the segment before', async () => {
    const disk = new SimulatedDisk()
    const lease = await create(open(disk))
    await fill(lease, 3)
    const before = disk.image()
    await append(lease, [encoded(3, 'a'), encoded(4, 'b')])
    const whole = disk.files().get(`${folder}/000001-001.jsonl`)!
    for (let length = 0; length < whole.length; length += 1) {
      const left = again(before)
      const file = await left.open(`${folder}/000001-001.jsonl`, 'create')
      await file.write(whole.subarray(0, length), 0)
      await file.close()
      const taker = await acquire(open(left))
      expect([taker.epoch, taker.tail.seq, taker.recovered]).toEqual([2, 2, []])
      if (length % 16 > 0) continue
      await fill(taker, 1)
      await expectWhole(left, 4)
      const verdict = await open(left).verify('a')
      expect(verdict).toMatchObject({ beside: expect.arrayContaining(['000001-001.jsonl']) })
    }
  })

  it('after which a whole segment is missing that a head names is refused', async () => {
    for (const durability of ['lazy', 'strict'] as const) {
      const disk = new SimulatedDisk()
      const lease = await create(open(disk, { durability }))
      await fill(lease, 7)
      const names = segmentsOf(disk)
      expect(names.length).toBeGreaterThan(2)
      for (const name of names.slice(1)) {
        const left = again(disk.image())
        await left.unlink(`${folder}/${name}`)
        expect(await codeOf(() => readBack(open(left), 'a')), name).toBe('CORRUPT')
        expect(await codeOf(() => acquire(open(left))), name).toBe('CORRUPT')
      }
    }
  })

  it('whose first batch a head proves is refused when that is damaged', async () => {
    const disk = new SimulatedDisk()
    await fill(await create(open(disk)), 4)
    const name = '000001-001.jsonl'
    const { length } = disk.files().get(`${folder}/${name}`)!
    for (const kept of [0, 100, 700, length - 1]) {
      const cut = await withFile(disk, name, (content) => content.subarray(0, kept))
      expect(await codeOf(() => readBack(open(cut), 'a')), String(kept)).toBe('CORRUPT')
    }
  })

  it('that fails ends the lease, and what was acknowledged is there', async () => {
    for (const fails of ['create', 'write', 'sync', 'syncFolder', 'close'] as const) {
      const disk = new SimulatedDisk()
      const lease = await create(open(disk))
      await fill(lease, 3)
      disk.onCall = ({ name, path }) =>
        name === fails && (path.endsWith('.jsonl') || path === folder)
          ? { kind: 'refused', code: 'EIO' }
          : undefined
      const outcome = fails === 'sync' || fails === 'syncFolder' ? 'OUTCOME_UNKNOWN' : 'STORAGE_FAILED'
      expect(await codeOf(() => append(lease, [encoded(3)])), fails).toBe(outcome)
      disk.onCall = undefined
      expect(await codeOf(() => append(lease, [encoded(3)])), fails).toBe('STORAGE_FAILED')
      await lease.release()
      expect(disk.openFiles).toBe(0)
      const taker = await acquire(open(disk))
      expect(taker.tail.seq).toBe(fails === 'syncFolder' || fails === 'sync' ? 3 : 2)
      await fill(taker, 4)
      await expectWhole(disk, taker.tail.seq + 1)
    }
  })
})

describe('a holder that was taken over from while it rotated', () => {
  it('stands beside the log with its segment, and acknowledges nothing', async () => {
    const disk = new SimulatedDisk()
    let taken: Lease | undefined
    const slow: JournalPort = Object.assign(Object.create(disk) as SimulatedDisk, {
      open: async (path: string, how: 'read' | 'create') => {
        // Between its glance and its new segment somebody claims.
        if (path.endsWith('000001-001.jsonl')) taken = await acquire(open(disk))
        return disk.open(path, how)
      },
    })
    const zombie = await create(
      new JournalStorage({ root, port: slow, segmentSizeBytesMax: small, compress: false }),
    )
    await fill(zombie, 3)
    let code: string | undefined
    try {
      await append(zombie, [encoded(3, 'zombie')])
    } catch (error) {
      code = isSessionError(error) ? error.code : undefined
    }
    const taker = taken!
    expect([code, taker.epoch]).toEqual(['FENCED', 2])
    await append(taker, [encoded(3, 'taker')])
    const { events } = await readBack(open(disk), 'a')
    expect(events.slice(3).map(({ data }) => data)).toEqual(['taker'])
    const verdict = await open(disk).verify('a')
    expect(verdict).toMatchObject({ kind: 'intact', beside: expect.arrayContaining(['000001-001.jsonl']) })
  })
})
