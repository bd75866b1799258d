import { createHash } from 'node:crypto'
import { encodeEvent, type Lease } from '@tidemark/session-persistence'
import { JournalStorage, sealLine } from '@tidemark/session-persistence/journal'
import { beforeEach, describe, expect, it } from 'vitest'
import { foldRecovered } from '../../../packages/session-persistence/src/journal/fold-recovered.ts'
import { append, appendNext, events, headerOf, newClaim, readBack, seqsOf, upTo } from '../batches.ts'
import { codeOf, refusalOf } from '../refusal.ts'
import { MemoryPort } from './memory-port.ts'

const folder = '/journal/sessions/s-a'
const segment = (epoch: number): string => `${folder}/00000${epoch}-000.jsonl`

let disk: MemoryPort
let lease: Lease
const open = (port = disk): JournalStorage => new JournalStorage({ root: '/journal', port })
const claim = (port = disk): Promise<Lease> => open(port).acquire('a', { claim: newClaim() })
const contentOf = (path: string, port = disk): Buffer => port.files().get(path)!
const grow = (path: string, more: string | Buffer): void =>
  disk.put(path, Buffer.concat([contentOf(path), Buffer.from(more)]))

beforeEach(async () => {
  disk = new MemoryPort()
  lease = await open().create(headerOf('a'), { claim: newClaim() })
  await append(lease, events(0, 2))
})

describe('a receipt within the last batch', () => {
  it.each([0, 1, 2])('G22: of seq %i proves all of it, since a batch is durable as a whole', async (seq) => {
    const batches = []
    for await (const batch of (await open().read('a', { receipt: { seq } })).batches) batches.push(batch)
    expect(batches.map(({ tail, isDurable }) => [tail.seq, isDurable]).at(-1)).toEqual([2, true])
  })

  it('G27: without one the last batch of a writer that died is not proven', async () => {
    const batches = []
    for await (const batch of (await open().read('a')).batches) batches.push(batch)
    expect(batches.at(-1)?.isDurable).toBe(false)
  })
})

describe('a torn end', () => {
  const torn = '{"seq":3,"time":1003,"ty'

  it('G27: is not part of the log for a reader, who is told of it and changes nothing', async () => {
    grow(segment(1), torn)
    const files = disk.files()
    const log = await open().read('a')
    const found = []
    for await (const batch of log.batches) found.push(...batch.events)
    const offset = contentOf(segment(1)).length - torn.length
    const rest = { kind: 'torn', segment: '000001-000.jsonl', offset, sizeBytes: torn.length }
    expect(seqsOf(found)).toEqual(upTo(3))
    expect(log.rest?.()).toEqual(rest)
    expect(await open().verify('a')).toMatchObject({ kind: 'unfinished', tail: { seq: 2 }, rest })
    expect(disk.files()).toEqual(files)
  })

  it('A01, A08, G18: is set aside by a claim, byte for byte, and its record is the lease’s', async () => {
    grow(segment(1), torn)
    const before = contentOf(segment(1))
    const later = await claim()
    const digest = createHash('sha256').update(torn).digest('hex')
    const offset = before.length - torn.length
    expect(later.recovered).toEqual([
      {
        reason: 'unterminated',
        segment: '000001-000.jsonl',
        offset,
        sizeBytes: torn.length,
        digest,
        lastSeq: 2,
        durableSeq: -1,
        evidence: 'nothing',
      },
    ])
    expect(contentOf(`${folder}/recovered/000001-000.jsonl.${offset}.2`).toString()).toBe(torn)
    expect(contentOf(segment(1))).toEqual(before)
    await appendNext(later)
    expect(seqsOf((await readBack(open(), 'a')).events)).toEqual(upTo(4))
  })

  it('G18: its record is every later lease’s too, until an event of the log tells it', async () => {
    grow(segment(1), torn)
    const records = (await claim()).recovered
    expect(records).toHaveLength(1)
    const silent = await claim()
    expect(silent.recovered).toEqual(records)
    await append(silent, [encodeEvent({ seq: 3, time: 1, type: 'session/recovered', data: records![0] })])
    expect((await claim()).recovered).toEqual([])
    expect((await claim()).recovered).toEqual([])
  })

  it('the record says what was proven, and by what, however often the log was read', async () => {
    await append(lease, events(3, 3))
    await append(lease, events(4, 4))
    grow(segment(1), '{"seq":5,')
    expect((await claim()).recovered).toMatchObject([{ lastSeq: 4, durableSeq: 3, evidence: 'commit' }])
  })

  it('a claim that fails on a full disk leaves no copy behind', async () => {
    grow(segment(1), torn)
    const openFile = disk.open.bind(disk)
    for (const name of ['recovered/', '.jsonl']) {
      disk.open = async (path, how) => {
        const file = await openFile(path, how)
        if (how === 'create' && path.includes(name))
          file.write = () => Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' }))
        return file
      }
      for (const _ of upTo(3)) expect(await codeOf(() => claim())).toBe('STORAGE_FAILED')
      disk.open = openFile
      expect([...disk.files().keys()].filter((path) => path.includes('recovered/'))).toEqual([])
    }
    expect((await claim()).recovered).toHaveLength(1)
  })

  it('A08, G16: five crashes in a row lose nothing that was acknowledged, and leave five records', async () => {
    for (const round of upTo(5)) {
      const epoch = round + 1
      grow(segment(epoch), `{"seq":${3 + round},"time":`)
      await appendNext(await claim())
    }
    expect(seqsOf((await readBack(open(), 'a')).events)).toEqual(upTo(8))
    expect((await claim()).recovered).toHaveLength(5)
  })

  it('G18: of as many as a header holds each has its record; of more the oldest are one, which says how many', async () => {
    const cut = (round: number): string => `{"seq":${3 + round},"time":${'1'.repeat(round)}`
    const crash = async (round: number): Promise<Lease> => {
      const newest = [...disk.files().keys()]
        .filter((path) => path.endsWith('.jsonl'))
        .sort()
        .at(-1)!
      grow(newest, cut(round))
      const later = await claim()
      await appendNext(later)
      return later
    }
    for (const round of upTo(31)) await crash(round)
    const records = (await crash(31)).recovered!
    expect(records.map(({ sizeBytes }) => sizeBytes)).toEqual(upTo(32).map((round) => cut(round).length))

    let { recovered = [] } = await crash(32)
    expect(recovered).toHaveLength(32)
    expect(recovered.slice(1)).toEqual([...records.slice(2), recovered[31]])
    const folded = {
      reason: 'folded:2',
      segment: records[0]!.segment,
      offset: records[0]!.offset,
      sizeBytes: records[0]!.sizeBytes + records[1]!.sizeBytes,
      digest: createHash('sha256')
        .update(JSON.stringify(records.slice(0, 2)))
        .digest('hex'),
      lastSeq: records[1]!.lastSeq,
      durableSeq: records[1]!.durableSeq,
      evidence: 'records',
    }
    expect(recovered[0]).toEqual(folded)
    ;({ recovered = [] } = await crash(33))
    expect(recovered).toHaveLength(32)
    const digest = createHash('sha256')
      .update(JSON.stringify([folded, records[2]]))
      .digest('hex')
    const sizeBytes = folded.sizeBytes + records[2]!.sizeBytes
    expect(recovered[0]).toMatchObject({
      ...folded,
      reason: 'folded:3',
      sizeBytes,
      digest,
      lastSeq: records[2]!.lastSeq,
      durableSeq: records[2]!.durableSeq,
    })

    // Told, it is told for good.
    const last = await claim()
    expect(last.recovered).toEqual(recovered)
    const data = recovered[0]!
    await append(last, [encodeEvent({ seq: last.tail.seq + 1, time: 1, type: 'session/recovered', data })])
    expect((await claim()).recovered).toEqual(recovered.slice(1))
  })

  it('G18: what an operator gave up stays known as such in the record that it was folded into', () => {
    const record = (index: number) => ({
      reason: 'hole',
      segment: '000001-000.jsonl',
      offset: index,
      sizeBytes: 1,
      digest: '0'.repeat(64),
      lastSeq: 1,
      durableSeq: 1,
      evidence: 'nothing',
    })
    const given = { ...record(0), reason: 'accepted-loss', evidence: 'operator' }
    const folded = foldRecovered([given, ...upTo(40).map(record)])
    expect([folded.length, folded[0]!.reason, folded[0]!.evidence]).toEqual([32, 'folded:10', 'operator'])
    expect(foldRecovered(upTo(32).map(record))).toEqual(upTo(32).map(record))
  })

  it('A03, A07, G16: of a batch that was cut anywhere, all or nothing is kept', async () => {
    const before = contentOf(segment(1)).length
    await append(lease, [encodeEvent({ seq: 3, time: 1, type: 'test/event', data: 'wörter 中' })])
    const whole = contentOf(segment(1))
    for (let length = before; length <= whole.length; length++) {
      const port = disk.copy()
      port.put(segment(1), whole.subarray(0, length))
      const later = await claim(port)
      const isWhole = length === whole.length
      expect(later.tail.seq, `cut at ${length}`).toBe(isWhole ? 3 : 2)
      expect(later.recovered).toHaveLength(isWhole || length === before ? 0 : 1)
      await appendNext(later)
      expect(seqsOf((await readBack(open(port), 'a')).events)).toEqual(upTo(isWhole ? 5 : 4))
    }
  })
})

describe('a whole batch that nothing proves durable', () => {
  it('is written again by the next claim, with the same bytes, and tells who appended it', async () => {
    await append(lease, events(3, 4))
    const later = await claim()
    expect(later.recovered).toEqual([])
    expect(later.tail).toEqual(lease.tail)
    const [header, ...lines] = contentOf(segment(2)).toString().split('\n')
    const sealed = contentOf(segment(1)).toString()
    const { predecessor, carried } = JSON.parse(header!).segment
    expect(predecessor.seq).toBe(2)
    expect(carried).toMatchObject({ to: 4, epoch: 1 })
    expect(sealed.slice(predecessor.bytes)).toContain(`${lines[0]}\n${lines[1]}\n`)
    const { epochs } = await readBack(open(), 'a')
    expect(epochs.map(({ epoch, seqs }) => [epoch, seqs])).toEqual([[1, upTo(5)]])
  })

  it('is in the log though a power cut takes it from the segment that was sealed before it', async () => {
    await append(lease, events(3, 4))
    const { predecessor } = JSON.parse(contentOf(segment(1)).toString().split('\n')[0]!).segment
    expect(predecessor).toBe(undefined)
    await claim()
    const { bytes } = JSON.parse(contentOf(segment(2)).toString().split('\n')[0]!).segment.predecessor
    disk.put(segment(1), contentOf(segment(1)).subarray(0, bytes))
    expect(seqsOf((await readBack(open(), 'a')).events)).toEqual(upTo(5))
  })

  it('a batch of an earlier writer that comes again is acknowledged again, and stands in the log once', async () => {
    const batch = events(3, 4)
    const expectedTail = lease.tail
    await append(lease, batch, 'the batch')
    const later = await claim()
    const terms = { expectedTail, epoch: later.epoch, batchId: 'the batch' }
    expect((await later.append(batch, terms)).tail).toEqual(later.tail)
    expect(seqsOf((await readBack(open(), 'a')).events)).toEqual(upTo(5))
  })

  it('claims without events do not lengthen the chain: each goes on from what is proven', async () => {
    await lease.release()
    for (const _ of upTo(20)) await (await claim()).release()
    const later = await claim()
    expect(later.epoch).toBe(22)
    await appendNext(later)
    const { predecessor } = JSON.parse(
      contentOf(`${folder}/000022-000.jsonl`).toString().split('\n')[0]!,
    ).segment
    expect(predecessor.segment).toBe('000001-000.jsonl')
    expect(seqsOf((await readBack(open(), 'a')).events)).toEqual(upTo(4))
  })
})

describe('durable data that is gone', () => {
  it('a log that ends before its head says is refused, wherever it was cut', async () => {
    await append(lease, events(3, 4))
    await lease.release()
    const whole = contentOf(segment(1))
    for (let length = 0; length < whole.length; length++) {
      disk.put(segment(1), whole.subarray(0, length))
      expect(await codeOf(() => readBack(open(), 'a')), `cut at ${length}`).toBe('CORRUPT')
      expect(await codeOf(() => claim()), `cut at ${length}`).toBe('CORRUPT')
    }
  })

  it('G22: a receipt refuses a log that is shorter, or another one', async () => {
    const { tail } = lease
    const port = disk.copy()
    await append(lease, events(3, 4))
    const receipt = lease.tail
    expect(await codeOf(() => open(port).acquire('a', { claim: newClaim(), receipt }))).toBe('CORRUPT')
    const other = { ...tail, digest: '0'.repeat(64) }
    expect(await codeOf(() => open().acquire('a', { claim: newClaim(), receipt: other }))).toBe('CORRUPT')
    await open().acquire('a', { claim: newClaim(), receipt })
    await open().acquire('a', { claim: newClaim(), receipt: tail })
  })

  it('a head that names another content than the log holds refuses it', async () => {
    await lease.release()
    const { sum: _, ...head } = JSON.parse(contentOf(`${folder}/head-000001`).toString()).head
    const { text } = sealLine('head', { ...head, digest: '0'.repeat(64) })
    disk.put(`${folder}/head-000001`, Buffer.from(`${text.padEnd(511)}\n`))
    expect((await refusalOf(() => readBack(open(), 'a'))).details).toMatchObject({ rule: 'R3' })
  })

  it('a void claim that says more was durable than the log holds refuses it', async () => {
    await lease.release()
    const later = await claim()
    await append(later, events(3, 3))
    const content = contentOf(segment(2))
    disk.put(segment(2), content.subarray(0, content.indexOf(10) + 21))
    const first = contentOf(segment(1))
    disk.put(segment(1), first.subarray(0, first.indexOf('{"seq":0,') + 20))
    await disk.unlink(`${folder}/head-000001`)
    const { details } = await refusalOf(() => readBack(open(), 'a'))
    expect(details).toMatchObject({ rule: 'R3', intactThrough: -1 })
  })

  it('C01, G20: a refusal says where, by which rule, and what is intact', async () => {
    await append(lease, events(3, 3))
    await append(lease, events(4, 4))
    const content = contentOf(segment(1))
    const at = content.indexOf('{"seq":3,')
    disk.put(segment(1), Buffer.from(content).fill(0x58, at + 40, at + 41))
    const { code, details } = await refusalOf(() => claim())
    expect(code).toBe('CORRUPT')
    expect(details).toMatchObject({
      segment: '000001-000.jsonl',
      offset: at,
      line: 7,
      intactThrough: 2,
      rule: 'R3',
    })
  })
})

describe('with strict durability', () => {
  const strict = (port = disk): JournalStorage =>
    new JournalStorage({ root: '/journal', port, durability: 'strict' })

  it('G21: each acknowledgement is in the head first, so no cut of the log goes unnoticed', async () => {
    const later = await strict().acquire('a', { claim: newClaim() })
    await append(later, events(3, 4))
    const whole = contentOf(segment(2))
    for (let length = 0; length < whole.length; length++) {
      const port = disk.copy()
      port.put(segment(2), whole.subarray(0, length))
      expect(await codeOf(() => readBack(open(port), 'a')), `cut at ${length}`).toBe('CORRUPT')
    }
  })

  it('an end that is no beginning of a batch is set aside, since nobody was told of it', async () => {
    const later = await strict().acquire('a', { claim: newClaim() })
    await append(later, events(3, 4))
    grow(segment(2), 'what the disk held before\n')
    const next = await strict().acquire('a', { claim: newClaim() })
    expect(next.recovered).toMatchObject([{ reason: 'strict-head', durableSeq: 4, evidence: 'head' }])
    expect(next.tail.seq).toBe(4)
  })
})
