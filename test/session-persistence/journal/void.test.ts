import { JournalStorage } from '@tidemark/session-persistence/journal'
import { beforeEach, describe, expect, it } from 'vitest'
import { append, appendNext, encoded, headerOf, newClaim, readBack, seqsOf, upTo } from '../batches.ts'
import { codeOf } from '../refusal.ts'
import { MemoryPort } from './memory-port.ts'

const root = '/journal'
const folder = '/journal/sessions/s-a'
const second = `${folder}/000002-000.jsonl`

let disk: MemoryPort
/** A claim that wrote nothing but its beginning. */
let claimed: Buffer
beforeEach(async () => {
  disk = new MemoryPort()
  const storage = new JournalStorage({ root, port: disk })
  const first = await storage.create(headerOf('a'), { claim: newClaim() })
  await appendNext(first, 3)
  await first.release()
  await (await storage.acquire('a', { claim: newClaim() })).release()
  claimed = disk.files().get(second)!
})

const open = (port: MemoryPort): JournalStorage => new JournalStorage({ root, port })
const left = (content: Buffer): MemoryPort => {
  const port = disk.copy()
  port.put(second, content)
  return port
}

async function expectGoesOn(port: MemoryPort, epoch: number): Promise<void> {
  expect(seqsOf((await readBack(open(port), 'a')).events)).toEqual(upTo(3))
  const lease = await open(port).acquire('a', { claim: newClaim() })
  expect(lease.epoch).toBe(epoch)
  await appendNext(lease, 2)
  expect(seqsOf((await readBack(open(port), 'a')).events)).toEqual(upTo(5))
}

describe('what a dead claimant leaves', () => {
  it('G17: cut at any length, it is passed over, and its epoch is spent', async () => {
    for (let length = 0; length <= claimed.length; length++)
      await expectGoesOn(left(claimed.subarray(0, length)), 3)
  }, 60_000)

  it('G17: with a hole anywhere, up to its end, it is passed over', async () => {
    for (let offset = 0; offset < claimed.length; offset += 7) {
      await expectGoesOn(left(Buffer.from(claimed).fill(0, offset)), 3)
      await expectGoesOn(left(Buffer.from(claimed).fill(0, offset, Math.min(offset + 64, claimed.length))), 3)
    }
  })

  it('many of them are passed over', async () => {
    const port = left(claimed.subarray(0, 10))
    for (const epoch of [3, 4, 9])
      await (await port.open(`${folder}/00000${epoch}-000.jsonl`, 'create')).close()
    await expectGoesOn(port, 10)
  })

  it('a name of a later version spends its epoch too', async () => {
    for (const name of ['head-000007', 'c-000001-000007.jsonl.zst']) {
      const port = disk.copy()
      await (await port.open(`${folder}/${name}`, 'create')).close()
      await expectGoesOn(port, 8)
    }
  })

  it('what no torn claim explains is refused', async () => {
    const encodedLine = Buffer.from(`${encoded(3, 'x').json}\n`)
    const foreign = [
      Buffer.from('no header'),
      Buffer.from('no header\n'),
      Buffer.from('{"segment":{"format":1}}\n'),
      Buffer.concat([claimed.subarray(0, claimed.indexOf(10) + 1), Buffer.from('no batch\n')]),
      Buffer.concat([claimed.subarray(0, claimed.indexOf(10) + 1), encodedLine.subarray(2)]),
      Buffer.alloc(9_000_000),
    ]
    for (const content of foreign) {
      expect(await codeOf(() => readBack(open(left(content)), 'a')), content.toString().slice(0, 20)).toBe(
        'CORRUPT',
      )
      expect(await codeOf(() => open(left(content)).acquire('a', { claim: newClaim() }))).toBe('CORRUPT')
    }
  })

  it('a session whose only segment was never begun is refused', async () => {
    const first = `${folder}/000001-000.jsonl`
    const header = disk.files().get(first)!.indexOf(10) + 1
    for (const length of [0, 10, header]) {
      const port = disk.copy()
      await port.unlink(second)
      port.put(first, port.files().get(first)!.subarray(0, length))
      expect(await codeOf(() => readBack(open(port), 'a'))).toBe('CORRUPT')
      expect(await codeOf(() => open(port).create(headerOf('a'), { claim: newClaim() }))).toBe('EXISTS')
    }
  })
})

describe('what a writer leaves that was taken over from', () => {
  const first = `${folder}/000001-000.jsonl`

  /** Two ways on from one log: its writer appended, and somebody who had not seen that took over. */
  async function diverge(): Promise<{ appended: MemoryPort; takenOver: MemoryPort }> {
    const appended = new MemoryPort()
    const stale = await open(appended).create(headerOf('a'), { claim: newClaim() })
    await appendNext(stale, 2)
    const takenOver = appended.copy()
    await append(stale, [encoded(2, 'late')])
    await append(await open(takenOver).acquire('a', { claim: newClaim() }), [encoded(2, 'taken over')])
    return { appended, takenOver }
  }

  it('bytes after the seal are not part of the log', async () => {
    const { appended, takenOver } = await diverge()
    const late = appended.files().get(first)!
    for (const length of [late.length, late.length - 20, takenOver.files().get(first)!.length]) {
      const port = takenOver.copy()
      port.put(first, Buffer.concat([late.subarray(0, length), Buffer.alloc(64)]))
      const { events } = await readBack(open(port), 'a')
      expect(events.map(({ data }) => data)).toEqual([{ n: 0 }, { n: 1 }, 'taken over'])
      await appendNext(await open(port).acquire('a', { claim: newClaim() }))
    }
  })

  it('while somebody takes over, readers and claimants give what is in the log in the end', async () => {
    const { appended, takenOver } = await diverge()
    const claim = takenOver.files().get(second)!
    const unfinished = (): JournalStorage => {
      const port = takenOver.copy()
      port.put(first, Buffer.concat([appended.files().get(first)!, Buffer.from('{"seq":3,')]))
      port.put(second, Buffer.alloc(0))
      // The one who took over gets on while somebody reads.
      let listings = 0
      port.readdir = async (path) => {
        listings += 1
        if (listings > 1) port.put(second, claim)
        return MemoryPort.prototype.readdir.call(port, path)
      }
      return open(port)
    }
    expect((await readBack(unfinished(), 'a')).events.at(-1)?.data).toBe('taken over')
    const storage = unfinished()
    const lease = await storage.acquire('a', { claim: newClaim() })
    expect(lease).toMatchObject({ epoch: 3, tail: { seq: 2 } })
    expect((await readBack(storage, 'a')).events.at(-1)?.data).toBe('taken over')
  })
})
