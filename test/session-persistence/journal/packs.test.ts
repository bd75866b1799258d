import { brotliDecompressSync } from 'node:zlib'
import type { Lease, SessionStorage } from '@tidemark/session-persistence'
import {
  JournalStorage,
  openLine,
  sealLine,
  type Codec,
  type JournalPort,
} from '@tidemark/session-persistence/journal'
import { SimulatedDisk, type DiskImage } from '@tidemark/session-persistence/testkit'
import { describe, expect, it } from 'vitest'
import { append, encoded, headerOf, newClaim, readBack, seqsOf, upTo } from '../batches.ts'
import { codeOf, refusalOf } from '../refusal.ts'

const root = '/journal'
const folder = `${root}/sessions/s-a`

const open = (disk: SimulatedDisk, segmentSizeBytesMax = 4_096): SessionStorage =>
  new JournalStorage({ root, port: disk, segmentSizeBytesMax })
const again = (image: DiskImage): SimulatedDisk => new SimulatedDisk({ image })
const create = (storage: SessionStorage): Promise<Lease> =>
  storage.create(headerOf('a'), { claim: newClaim() })
const acquire = (storage: SessionStorage): Promise<Lease> => storage.acquire('a', { claim: newClaim() })

/** Text that does not repeat. */
const textOf = (seq: number, length: number): string => {
  let text = ''
  for (let state = seq + 1; text.length < length; state = (state * 48_271) % 2_147_483_647)
    text += `${state.toString(36)} `
  return text.slice(0, length)
}

async function fill(lease: Lease, count: number, length = 1_000): Promise<void> {
  for (const _ of upTo(count)) {
    const seq = lease.tail.seq + 1
    await append(lease, [encoded(seq, textOf(seq, length))])
  }
}

const namesOf = (disk: SimulatedDisk): string[] =>
  [...disk.files().keys()]
    .filter((path) => path.startsWith(`${folder}/`))
    .map((path) => path.slice(folder.length + 1))
    .sort()
const packsOf = (disk: SimulatedDisk): string[] => namesOf(disk).filter((name) => name.startsWith('c-'))
const segmentsOf = (disk: SimulatedDisk): string[] => namesOf(disk).filter((name) => name.endsWith('.jsonl'))

async function expectWhole(disk: SimulatedDisk, count: number, length = 1_000): Promise<void> {
  const { events } = await readBack(open(again(disk.image())), 'a')
  expect(seqsOf(events)).toEqual(upTo(count))
  for (const { seq, data } of events) expect(data).toBe(textOf(seq, length))
  expect((await open(again(disk.image())).verify('a')).kind).toBe('intact')
}

/** Lifecycles that append one event each, or none. */
async function live(disk: SimulatedDisk, count: number, isIdle = false): Promise<void> {
  for (const _ of upTo(count)) {
    const lease = await acquire(open(disk))
    if (!isIdle) await fill(lease, 1)
    await lease.release()
  }
}

async function changed(
  disk: SimulatedDisk,
  name: string,
  change: (content: Buffer) => Buffer,
): Promise<SimulatedDisk> {
  const copy = again(disk.image())
  const path = `${folder}/${name}`
  const content = change(Buffer.from(copy.files().get(path)!))
  await copy.unlink(path)
  const file = await copy.open(path, 'create')
  await file.write(content, 0)
  await file.close()
  return copy
}

describe('a segment that is sealed', () => {
  it('is packed when it was full, and its file goes', async () => {
    const disk = new SimulatedDisk()
    const lease = await create(open(disk))
    await fill(lease, 24)
    await lease.release()
    expect(segmentsOf(disk)).toHaveLength(1)
    expect(packsOf(disk).length).toBeGreaterThan(0)
    expect(packsOf(disk).length).toBeLessThan(4)
    expect(packsOf(disk)[0]).toMatch(/^c-000001-000-000001-\d{3}\.jsonl\.br$/)
    await expectWhole(disk, 24)
    const taker = await acquire(open(disk))
    expect([taker.epoch, taker.tail]).toEqual([2, lease.tail])
    await fill(taker, 10)
    await taker.release()
    await expectWhole(disk, 34)
  })

  it('is packed with others when there are eight, so that files do not follow the number of lifecycles', async () => {
    const disk = new SimulatedDisk()
    const lease = await create(open(disk, 1_000_000))
    await fill(lease, 1)
    await lease.release()
    let namesMax = 0
    for (const _ of upTo(60)) {
      await live(disk, 1)
      namesMax = Math.max(namesMax, namesOf(disk).length)
    }
    expect(namesMax).toBeLessThan(22)
    await expectWhole(disk, 61)
    expect((await acquire(open(disk))).epoch).toBe(62)
  })

  it('is packed alone when it is large, by a lifecycle that has time, and not by one that ends', async () => {
    const disk = new SimulatedDisk()
    const lease = await create(open(disk, 67_108_864))
    await fill(lease, 11, 100_000)
    await lease.release()
    await live(disk, 1)
    expect(packsOf(disk)).toEqual([])
    const patient = await acquire(open(disk))
    await fill(patient, 1)
    await disk.advance(5_000)
    expect(packsOf(disk)).toEqual(['c-000001-000-000002-000.jsonl.br'])
    expect(segmentsOf(disk)).toEqual(['000003-000.jsonl'])
    await patient.release()
    const { events } = await readBack(open(again(disk.image())), 'a')
    expect(seqsOf(events)).toEqual(upTo(13))
  })

  it('holds up no other, where it is too large for who is about to close', async () => {
    const disk = new SimulatedDisk()
    const lease = await create(open(disk, 67_108_864))
    await fill(lease, 18, 1_000_000)
    await lease.release()
    let namesMax = 0
    for (const _ of upTo(40)) {
      await live(disk, 1)
      namesMax = Math.max(namesMax, namesOf(disk).length)
    }
    expect(namesMax).toBeLessThan(24)
    expect((await open(again(disk.image())).verify('a')).kind).toBe('intact')
    // The next writer with time packs it, too.
    const patient = await acquire(open(disk))
    await disk.advance(5_000)
    await patient.release()
    expect(segmentsOf(disk).length).toBeLessThan(10)
    const { events } = await readBack(open(again(disk.image())), 'a')
    expect(seqsOf(events)).toEqual(upTo(58))
  })

  it('and lifecycles without events leave nothing', async () => {
    const disk = new SimulatedDisk()
    const lease = await create(open(disk, 1_000_000))
    await fill(lease, 1)
    await lease.release()
    let namesMax = 0
    for (const _ of upTo(40)) {
      await live(disk, 1, true)
      namesMax = Math.max(namesMax, namesOf(disk).length)
    }
    expect(namesMax).toBeLessThan(14)
    await expectWhole(disk, 1)
    expect((await acquire(open(disk))).epoch).toBe(42)
  })

  it('is read by whoever reads: a fork, a salvage, a list, a read that stops early', async () => {
    const disk = new SimulatedDisk()
    const lease = await create(open(disk))
    await fill(lease, 24)
    await lease.release()
    const storage = open(disk)
    await storage.fork({ id: 'a', through: 9 }, headerOf('b', { parent: { id: 'a', seq: 9 } }), newClaim())
    expect(seqsOf((await readBack(storage, 'b')).events)).toEqual(upTo(10))
    expect((await storage.list({ countMax: 9 })).sessions).toMatchObject([{ status: 'ok' }, { status: 'ok' }])
    const { records } = await storage.salvage!('a')
    const salvaged: number[] = []
    for await (const { event } of records) salvaged.push(event.seq)
    expect(salvaged).toEqual(upTo(24))
  })

  it('is in a pack as the page on the format says, read by nobody else’s code', async () => {
    const disk = new SimulatedDisk()
    const plain = new SimulatedDisk()
    const unpacked = new JournalStorage({ root, port: plain, segmentSizeBytesMax: 4_096, compress: false })
    for (const lease of [await create(open(disk)), await create(unpacked)]) {
      await fill(lease, 24)
      await lease.release()
    }
    let found = 0
    for (const name of packsOf(disk)) {
      const file = disk.files().get(`${folder}/${name}`)!
      const { offset, sizeBytes } = JSON.parse(file.subarray(-256).toString()).pack
      expect(offset + sizeBytes + 256).toBe(file.length)
      const index = JSON.parse(brotliDecompressSync(file.subarray(offset, offset + sizeBytes)).toString())
      let from = 0
      const texts: Buffer[] = index.blocks.map((block: { sizeBytes: number }) =>
        brotliDecompressSync(file.subarray(from, (from += block.sizeBytes))),
      )
      for (const { name: segment, header, bytes, at } of index.segments) {
        const front = Buffer.from(`${header}\n`)
        const whole = Buffer.concat([front, Buffer.concat(texts).subarray(at, at + bytes - front.length)])
        const lines = (content: Buffer): string[] =>
          content
            .toString()
            .split('\n')
            .filter((line) => line.startsWith('{"seq":'))
        expect(whole.length).toBe(bytes)
        expect(lines(whole)).toEqual(lines(plain.files().get(`${folder}/${segment}`)!))
        found += 1
      }
    }
    expect(found).toBeGreaterThan(5)
  })

  it('stays a file of its own where packing is off', async () => {
    const disk = new SimulatedDisk()
    const storage = new JournalStorage({ root, port: disk, segmentSizeBytesMax: 4_096, compress: false })
    const lease = await create(storage)
    await fill(lease, 24)
    await lease.release()
    expect(packsOf(disk)).toEqual([])
    expect(segmentsOf(disk).length).toBeGreaterThan(5)
  })

  it('of many blocks is read from any place', async () => {
    const disk = new SimulatedDisk()
    const lease = await create(open(disk, 7_000_000))
    await fill(lease, 40, 200_000)
    await lease.release()
    expect(packsOf(disk)).toEqual(['c-000001-000-000001-000.jsonl.br'])
    await expectWhole(disk, 40, 200_000)
  })
})

describe('a pack that is damaged', () => {
  async function packed(): Promise<SimulatedDisk> {
    const disk = new SimulatedDisk()
    const lease = await create(open(disk))
    await fill(lease, 24)
    await lease.release()
    return disk
  }

  it('at any byte is refused, and never read as anything else', async () => {
    const disk = await packed()
    for (const name of packsOf(disk)) {
      const { length } = disk.files().get(`${folder}/${name}`)!
      for (let at = 0; at < length; at += 97) {
        const bad = await changed(disk, name, (content) => {
          content[at] = content[at]! ^ 4
          return content
        })
        const isPadding = disk.files().get(`${folder}/${name}`)![at] === 0x20
        if (isPadding) continue
        expect(await codeOf(() => readBack(open(bad), 'a')), `${name} ${at}`).toBe('CORRUPT')
      }
    }
  })

  it('cut short, or lost, is refused with the segment that is missing', async () => {
    const disk = await packed()
    for (const name of packsOf(disk)) {
      const { length } = disk.files().get(`${folder}/${name}`)!
      for (const kept of [0, 1, 255, 256, 300, length - 300, length - 1]) {
        const bad = await changed(disk, name, (content) => content.subarray(0, kept))
        const error = await refusalOf(() => readBack(open(bad), 'a'))
        expect(error).toMatchObject({ code: 'CORRUPT', details: { rule: 'R2' } })
        expect(error.details.segment).toMatch(/^000001-\d{3}\.jsonl$/)
        expect(await codeOf(() => acquire(open(bad)))).toBe('CORRUPT')
        expect((await open(bad).verify('a')).kind).toBe('damaged')
      }
      const lost = again(disk.image())
      await lost.unlink(`${folder}/${name}`)
      expect(await codeOf(() => readBack(open(lost), 'a'))).toBe('CORRUPT')
    }
  })

  it('is made up for by a segment that is still there', async () => {
    const disk = new SimulatedDisk()
    disk.onCall = ({ name, path }) =>
      name === 'unlink' && path.endsWith('.jsonl') ? { kind: 'refused', code: 'EACCES' } : undefined
    const lease = await create(open(disk))
    await fill(lease, 8)
    await lease.release()
    disk.onCall = undefined
    expect(packsOf(disk).length).toBeGreaterThan(0)
    for (const name of packsOf(disk)) {
      const { length } = disk.files().get(`${folder}/${name}`)!
      for (let at = 0; at < length; at += 41) {
        const bad = await changed(disk, name, (content) => {
          content[at] = content[at]! ^ 4
          return content
        })
        await expectWhole(bad, 8)
      }
    }
    await live(disk, 1)
    expect(segmentsOf(disk).length).toBeLessThan(3)
    await expectWhole(disk, 9)
  })

  it('of a format that is newer is not read', async () => {
    const disk = await packed()
    const [name = ''] = packsOf(disk)
    const newer = await changed(disk, name, (content) => {
      const fields = openLine('pack', content.subarray(-256).toString().trimEnd())!.fields as object
      const { text } = sealLine('pack', { ...fields, format: 2 })
      return Buffer.concat([content.subarray(0, -256), Buffer.from(`${text.padEnd(255)}\n`)])
    })
    expect(await codeOf(() => readBack(open(newer), 'a'))).toBe('UNSUPPORTED_FORMAT')
    expect(await codeOf(() => acquire(open(newer)))).toBe('UNSUPPORTED_FORMAT')
  })

  it('is repaired up to the block before, and what is before it stays packed', async () => {
    const disk = new SimulatedDisk()
    const lease = await create(open(disk, 7_000_000))
    await fill(lease, 40, 200_000)
    await lease.release()
    const [name = ''] = packsOf(disk)
    const bad = await changed(disk, name, (content) => {
      content.fill(0, content.length >> 1, (content.length >> 1) + 1)
      return content
    })
    const verdict = await open(bad).verify('a')
    expect(verdict).toMatchObject({ kind: 'damaged', code: 'CORRUPT', segment: '000001-000.jsonl' })
    const { intactThrough } = verdict as { intactThrough: number }
    expect(intactThrough).toBeGreaterThan(5)
    expect(intactThrough).toBeLessThan(30)
    const storage = open(bad)
    await storage.repair!('a', { claim: newClaim(), acceptLossAfter: intactThrough })
    await expectWhole(bad, intactThrough + 1, 200_000)
    const next = await acquire(storage)
    expect(next.tail.seq).toBe(intactThrough)
    await fill(next, 9, 1_000_000)
    await next.release()
    expect(packsOf(bad)).toContain(name)
    expect(seqsOf((await readBack(open(bad), 'a')).events)).toEqual(upTo(intactThrough + 10))
  })
})

describe('a holder that packs', () => {
  it('leaves what it did not finish to the next one, who removes it', async () => {
    const disk = new SimulatedDisk()
    const lease = await create(open(disk))
    const left = await disk.open(`${folder}/tmp-00ff`, 'create')
    await left.close()
    await fill(lease, 12)
    await lease.release()
    expect(namesOf(disk)).not.toContain('tmp-00ff')
    await expectWhole(disk, 12)
  })

  it('and was taken over from removes nothing', async () => {
    const disk = new SimulatedDisk()
    const stale = await create(open(disk))
    await fill(stale, 2)
    const taker = await acquire(open(disk))
    await fill(taker, 1)
    const before = namesOf(disk)
    await stale.release()
    expect(namesOf(disk)).toEqual(before)
  })

  it('a failure of the medium while it packs costs nothing', async () => {
    for (const fails of ['rename', 'create', 'read', 'unlink'] as const) {
      const disk = new SimulatedDisk()
      const lease = await create(open(disk))
      disk.onCall = ({ name, path }) =>
        name === fails && !path.includes('.jsonl') && !path.includes('head')
          ? { kind: 'refused', code: 'EIO' }
          : undefined
      await fill(lease, 12)
      await lease.release()
      disk.onCall = undefined
      expect(disk.openFiles).toBe(0)
      await expectWhole(disk, 12)
      await live(disk, 2)
      await expectWhole(disk, 14)
    }
  })
})

describe('beside a holder that packs', () => {
  /** A disk on which nothing is compressed before it may be. */
  function held(disk: SimulatedDisk): { port: JournalPort; go: () => void; asked: () => number } {
    const waiting: (() => void)[] = []
    let asked = 0
    let isOpen = false
    const codec: Codec = {
      ...disk.codec,
      compress: async (text) => {
        asked += 1
        if (!isOpen) await new Promise<void>((resolve) => waiting.push(resolve))
        return disk.codec.compress(text)
      },
    }
    const go = (): void => {
      isOpen = true
      for (const each of waiting) each()
    }
    return { port: Object.assign(Object.create(disk) as SimulatedDisk, { codec }), go, asked: () => asked }
  }

  it('its own appends are not held up', async () => {
    const disk = new SimulatedDisk()
    const { port, go, asked } = held(disk)
    const lease = await create(new JournalStorage({ root, port, segmentSizeBytesMax: 4_096 }))
    await fill(lease, 16)
    expect(asked()).toBe(1)
    expect(packsOf(disk)).toEqual([])
    const released = lease.release()
    go()
    await released
    expect(namesOf(disk).filter((name) => name.startsWith('tmp-'))).toEqual([])
    expect(disk.openFiles).toBe(0)
    await expectWhole(disk, 16)
  })

  it('a takeover makes it stop, and it removes nothing', async () => {
    const disk = new SimulatedDisk()
    const { port, go } = held(disk)
    const stale = await create(new JournalStorage({ root, port, segmentSizeBytesMax: 4_096 }))
    await fill(stale, 16)
    const taker = await acquire(open(disk))
    await fill(taker, 1)
    const before = segmentsOf(disk)
    go()
    await stale.release()
    expect(segmentsOf(disk)).toEqual(before)
    await taker.release()
    await expectWhole(disk, 17)
  })

  it('a session that was removed, and created again under its name, keeps its files', async () => {
    const disk = new SimulatedDisk()
    const { port, go } = held(disk)
    const stale = await create(new JournalStorage({ root, port, segmentSizeBytesMax: 4_096 }))
    await fill(stale, 16)
    await open(disk).remove('a')
    const born = await create(open(disk))
    await fill(born, 2)
    const before = namesOf(disk)
    go()
    await stale.release()
    expect(namesOf(disk)).toEqual(before)
    await expectWhole(disk, 2)
  })

  it('a reader goes on in a pack where a segment was', async () => {
    const disk = new SimulatedDisk()
    const { port, go } = held(disk)
    const lease = await create(new JournalStorage({ root, port, segmentSizeBytesMax: 4_096 }))
    await fill(lease, 16)
    const seqs: number[] = []
    for await (const { events } of (await open(disk).read('a')).batches) {
      if (seqs.length === 0) {
        go()
        await lease.release()
        expect(segmentsOf(disk)).toHaveLength(1)
      }
      seqs.push(...seqsOf(events))
    }
    expect(seqs).toEqual(upTo(16))
  })
})
