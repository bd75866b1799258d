import { JournalStorage } from '@tidemark/session-persistence/journal'
import type { Lease, SalvagedRecord } from '@tidemark/session-persistence'
import { beforeEach, describe, expect, it } from 'vitest'
import { append, appendNext, events, headerOf, newClaim, readBack, seqsOf, upTo } from '../batches.ts'
import { codeOf, refusalOf } from '../refusal.ts'
import { MemoryPort } from './memory-port.ts'

const folder = '/journal/sessions/s-a'
const segment = (epoch: number): string => `${folder}/00000${epoch}-000.jsonl`

let disk: MemoryPort
const open = (port = disk): JournalStorage => new JournalStorage({ root: '/journal', port })
const claim = (): Promise<Lease> => open().acquire('a', { claim: newClaim() })
const repair = (acceptLossAfter: number) => open().repair('a', { claim: newClaim(), acceptLossAfter })

/** What stands in the session's folder: an index beside it is made anew at any time. */
const stored = () => new Map([...disk.files()].filter(([path]) => path.startsWith(`${folder}/`)))

/** Changes one byte inside the event line of a seq. */
function damage(epoch: number, seq: number): void {
  const content = Buffer.from(disk.files().get(segment(epoch))!)
  const at = content.indexOf(`{"seq":${seq},`) + 40
  content[at] = content[at]! ^ 1
  disk.put(segment(epoch), content)
}

/** Three epochs: seqs 0 to 4, 5 to 9, 10 to 14, a batch for each seq, all of them closed. */
beforeEach(async () => {
  disk = new MemoryPort()
  let lease = await open().create(headerOf('a'), { claim: newClaim() })
  for (const seq of upTo(15)) {
    if (seq === 5 || seq === 10) lease = await claim()
    await append(lease, events(seq, seq))
    if (seq % 5 === 4) await lease.release()
  }
})

describe('repair', () => {
  it.each([
    ['in the newest segment', 3, 12],
    ['in a sealed segment', 1, 2],
  ])('G23: goes on without what follows damage %s, and erases nothing', async (_, epoch, seq) => {
    damage(epoch, seq)
    const { details } = await refusalOf(() => readBack(open(), 'a'))
    expect(details.intactThrough).toBe(seq - 1)
    const before = stored()
    const record = await repair(seq - 1)
    expect(record).toMatchObject({
      reason: 'accepted-loss',
      evidence: 'operator',
      segment: `00000${epoch}-000.jsonl`,
      lastSeq: seq - 1,
    })
    const aside = disk.files().get(`${folder}/recovered/${record.segment}.${record.offset}.4`)!
    expect(aside).toEqual(before.get(segment(epoch))!.subarray(record.offset))
    for (const [path, content] of before)
      if (!path.includes('/index/')) expect(disk.files().get(path)).toEqual(content)

    expect(seqsOf((await readBack(open(), 'a')).events)).toEqual(upTo(seq))
    const lease = await claim()
    expect(lease.recovered).toEqual([record])
    await appendNext(lease)
    await lease.release()
    expect(seqsOf((await readBack(open(), 'a')).events)).toEqual(upTo(seq + 1))
    expect(await open().verify('a')).toMatchObject({ kind: 'intact' })
  })

  it('accepts only the end of a whole batch before the damage, and changes nothing otherwise', async () => {
    damage(3, 12)
    const before = stored()
    for (const seq of [12, 13, 14, 99, -2, 0.5])
      expect(await codeOf(() => repair(seq)), String(seq)).toBe('INVALID_SEQ')
    expect(stored()).toEqual(before)
  })

  it('G23: a log that is not damaged is not cut', async () => {
    const before = stored()
    expect(await codeOf(() => repair(5))).toBe('INVALID_SEQ')
    expect(await codeOf(() => repair(14))).toBe('INVALID_SEQ')
    expect(stored()).toEqual(before)
  })

  it('a newest segment whose header is damaged can be given up', async () => {
    const content = Buffer.from(disk.files().get(segment(3))!)
    content[60] = content[60]! ^ 1
    disk.put(segment(3), content)
    expect(await codeOf(() => claim())).toBe('CORRUPT')
    expect((await repair(9)).lastSeq).toBe(9)
    expect(seqsOf((await readBack(open(), 'a')).events)).toEqual(upTo(10))
  })

  it('a log that is shorter than its head says can be gone on with', async () => {
    const content = disk.files().get(segment(3))!
    disk.put(segment(3), content.subarray(0, content.indexOf('{"seq":13,')))
    expect((await refusalOf(() => claim())).details).toMatchObject({ rule: 'R3', intactThrough: 12 })
    await repair(12)
    expect((await claim()).tail.seq).toBe(12)
  })
})

describe('verify', () => {
  const verdictAfter = async (change: () => unknown) => {
    await change()
    return open().verify('a')
  }
  const cut = (epoch: number, sizeBytes: number) => (): void => {
    const content = disk.files().get(segment(epoch))!
    disk.put(segment(epoch), content.subarray(0, content.length - sizeBytes))
  }

  it.each([
    ['a byte changed in a sealed segment', () => damage(1, 2), 'R1', 1],
    ['a byte changed in the newest segment', () => damage(3, 12), 'R3', 11],
    ['a sealed segment cut short', cut(2, 10), 'R1', 8],
    ['a segment gone', () => disk.unlink(segment(2)), 'R2', 4],
    [
      'a header changed',
      () => {
        const content = Buffer.from(disk.files().get(segment(3))!)
        disk.put(segment(3), content.fill(0x58, 60, 61))
      },
      'R8',
      9,
    ],
  ] as const)(
    '%s: says by which rule it is damaged, and a repair after what is intact works',
    async (...row) => {
      const [, change, rule, intactThrough] = row
      const verdict = await verdictAfter(change)
      expect(verdict).toMatchObject({ kind: 'damaged', code: 'CORRUPT', rule, intactThrough })
      expect((await repair(intactThrough)).durableSeq).toBe(14)
      expect(seqsOf((await readBack(open(), 'a')).events)).toEqual(upTo(intactThrough + 1))
    },
  )

  it('names what stands beside the log: claims never begun, and bytes that follow a seal', async () => {
    const content = disk.files().get(segment(1))!
    disk.put(segment(1), Buffer.concat([content, Buffer.from('late')]))
    await (await disk.open(segment(4), 'create')).close()
    const verdict = await open().verify('a')
    const beside = ['000004-000.jsonl', `000001-000.jsonl+${content.length}`]
    expect(verdict).toEqual({ kind: 'intact', tail: expect.anything(), durable: 14, beside })
  })

  it('a failure of the medium is no damage', async () => {
    const { open: openFile } = disk
    disk.open = async (path, how) => {
      if (path === segment(2)) throw Object.assign(new Error('no'), { code: 'EACCES' })
      return openFile.call(disk, path, how)
    }
    expect(await codeOf(() => open().verify('a'))).toBe('STORAGE_FAILED')
  })
})

describe('a store whose file is gone', () => {
  it('is refused: its sessions are not taken for missing, and no new store is put over them', async () => {
    await disk.unlink('/journal/store.json')
    const files = disk.files()
    for (const ask of [
      () => readBack(open(), 'a'),
      () => open().list({ countMax: 10 }),
      () => open().create(headerOf('b'), { claim: newClaim() }),
      () => claim(),
    ])
      expect(await codeOf(ask)).toBe('CORRUPT')
    expect(disk.files()).toEqual(files)
  })
})

describe('a network file system', () => {
  it('is refused for writing before anything is created, unless it is allowed; reading goes on', async () => {
    disk.networkFs = async () => 'nfs'
    const files = disk.files()
    for (const ask of [
      () => open().create(headerOf('b'), { claim: newClaim() }),
      () => claim(),
      () => open().fork({ id: 'a', through: 3 }, headerOf('b'), newClaim()),
      () => open().remove('a'),
    ])
      expect(await refusalOf(ask)).toMatchObject({ code: 'STORAGE_FAILED', details: { reason: 'nfs' } })
    expect(disk.files()).toEqual(files)
    expect(seqsOf((await readBack(open(), 'a')).events)).toEqual(upTo(15))
    const allowed = new JournalStorage({ root: '/journal', port: disk, allowNetworkFs: true })
    await appendNext(await allowed.acquire('a', { claim: newClaim() }))
  })
})

async function salvage(): Promise<SalvagedRecord[]> {
  const found: SalvagedRecord[] = []
  for await (const record of (await open().salvage('a')).records) found.push(record)
  return found
}
const salvaged = async () => (await salvage()).map(({ event, isProven }) => [event.seq, isProven])

describe('salvage', () => {
  it('of a sound log everything is proven, and nothing is changed', async () => {
    const before = disk.files()
    expect(await salvaged()).toEqual(upTo(15).map((seq) => [seq, true]))
    expect((await open().salvage('a')).header).toEqual(headerOf('a'))
    expect(disk.files()).toEqual(before)
  })

  it('G24: of a damaged log everything else is still proven', async () => {
    damage(1, 2)
    damage(3, 12)
    const unproven = (await salvaged()).filter(([, isProven]) => !isProven)
    expect((await salvage()).length).toBeGreaterThanOrEqual(13)
    for (const [seq] of unproven) expect([2, 12]).toContain(seq)
  })

  it('a commit that is damaged costs nothing: the next one proves both batches', async () => {
    const content = Buffer.from(disk.files().get(segment(2))!)
    const at = content.indexOf('{"commit":{"from":6,"to":6')
    content[at + 30] = content[at + 30]! ^ 1
    disk.put(segment(2), content)
    expect(await salvaged()).toEqual(upTo(15).map((seq) => [seq, true]))
  })

  it('without a readable header nothing of that segment is proven, and what its lines say is still given', async () => {
    const content = Buffer.from(disk.files().get(segment(2))!)
    content[60] = content[60]! ^ 1
    disk.put(segment(2), content)
    expect(await salvaged()).toEqual(upTo(15).map((seq) => [seq, seq < 5 || seq > 9]))
  })

  it('lines of zeros, of text and of wrong shape are passed over', async () => {
    const junk = [
      '\0'.repeat(512),
      'no json',
      '{"seq":"7"}',
      '[1]',
      'null',
      '{"seq":9e99,"time":1,"type":"x","data":0}',
    ]
    const content = disk.files().get(segment(3))!
    const at = content.indexOf('{"seq":12,')
    const parts = [content.subarray(0, at), Buffer.from(`${junk.join('\n')}\n`), content.subarray(at)]
    disk.put(segment(3), Buffer.concat(parts))
    expect((await salvage()).map(({ event }) => event.seq)).toEqual(upTo(15))
  })
})
