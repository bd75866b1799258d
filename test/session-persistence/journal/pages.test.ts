import fc from 'fast-check'
import { isSessionError, type AnySessionEvent } from '@tidemark/session-core'
import { encodeEvent, type SessionStorage } from '@tidemark/session-persistence'
import { JournalStorage } from '@tidemark/session-persistence/journal'
import { SimulatedDisk } from '@tidemark/session-persistence/testkit'
import { describe, expect, it } from 'vitest'
import { BlockTexts } from '../../../packages/session-persistence/src/journal/block-texts.ts'
import { append, event, headerOf, newClaim, readBack, seqsOf, upTo } from '../batches.ts'
import { codeOf } from '../refusal.ts'
import { MemoryPort } from './memory-port.ts'

const root = '/journal'
const folder = `${root}/sessions/s-a`

interface Page {
  readonly events: readonly AnySessionEvent[]
  readonly tail: number | undefined
}

async function pageOf(storage: SessionStorage, from: number, through?: number): Promise<Page> {
  const terms = { from, ...(through !== undefined && { through }) }
  const events: AnySessionEvent[] = []
  let tail: number | undefined
  for await (const batch of (await storage.read('a', terms)).batches) {
    events.push(...batch.events)
    tail = batch.tail.seq
  }
  return { events, tail }
}

/** A page, or the code with which it was refused. */
async function outcomeOf(...asked: Parameters<typeof pageOf>): Promise<Page | string> {
  try {
    return await pageOf(...asked)
  } catch (error) {
    if (!isSessionError(error)) throw error
    return error.code
  }
}

/** Sizes in bytes of the events of each batch: some logs are even, in others a stretch takes nearly all room. */
const sizes = fc.array(
  fc.array(
    fc.oneof(
      { weight: 8, arbitrary: fc.integer({ min: 0, max: 400 }) },
      { weight: 1, arbitrary: fc.integer({ min: 1_000, max: 300_000 }) },
    ),
    { minLength: 1, maxLength: 40 },
  ),
  { minLength: 1, maxLength: 60 },
)

describe('a page of a stored log', () => {
  it('G38: is what a read of everything gives of it, in segments and in packs, wherever it lies', async () => {
    await fc.assert(
      fc.asyncProperty(
        sizes,
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 12, maxLength: 12 }),
        fc.constantFrom(150_000, 1_000_000, 16_000_000),
        async (log, places, segmentSizeBytesMax) => {
          const disk = new SimulatedDisk()
          const writing = new JournalStorage({ root, port: disk, segmentSizeBytesMax })
          const lease = await writing.create(headerOf('a'), { claim: newClaim() })
          let length = 0
          for (const batch of log) {
            const events = batch.map((size) =>
              encodeEvent(event(length++, `${length} ${'é'.repeat(size / 2)}`)),
            )
            await append(lease, events)
          }
          await lease.release()
          const all = (await readBack(new JournalStorage({ root, port: disk }), 'a')).events
          expect(seqsOf(all)).toEqual(upTo(length))

          const paging = new JournalStorage({ root, port: disk })
          for (const place of places) {
            const from = Math.floor(place * length)
            const through = Math.min(length - 1, from + 7)
            const page = await pageOf(paging, from, through)
            expect(page).toEqual({
              events: all.slice(from, through + 1),
              tail: through === length - 1 ? through : page.tail,
            })
          }
          const last = await pageOf(paging, Number.MAX_SAFE_INTEGER)
          expect(last).toEqual({ events: [], tail: length - 1 })
        },
      ),
      { numRuns: 40 },
    )
  }, 120_000)
})

describe('a storage that has read a page', () => {
  const newest = `${folder}/000002-000.jsonl`

  /** Two lifecycles; the second one's segment begins with a batch of some events. */
  async function twoLives(text: string): Promise<MemoryPort> {
    const disk = new MemoryPort()
    const storage = new JournalStorage({ root, port: disk, compress: false })
    const first = await storage.create(headerOf('a'), { claim: newClaim() })
    await append(
      first,
      [0, 1, 2].map((seq) => encodeEvent(event(seq))),
    )
    await first.release()
    const second = await storage.acquire('a', { claim: newClaim() })
    await append(
      second,
      [3, 4, 5].map((seq) => encodeEvent(event(seq, text))),
    )
    await append(
      second,
      [6, 7].map((seq) => encodeEvent(event(seq, text))),
    )
    await second.release()
    return disk
  }

  const commitsOf = (content: Buffer): number[] => {
    const found: number[] = []
    for (let at = content.indexOf('\n{"commit"'); at !== -1; at = content.indexOf('\n{"commit"', at + 1))
      found.push(at + 1)
    return found
  }

  it.each<[string, (content: Buffer) => Buffer]>([
    ['was cut in its header', (content) => content.subarray(0, 100)],
    ['was cut in its first batch', (content) => content.subarray(0, commitsOf(content)[0]! - 3)],
    [
      'was cut in the line that committed its first batch',
      (content) => content.subarray(0, commitsOf(content)[0]! + 20),
    ],
    [
      'has another line where its first batch was committed',
      (content) => content.fill(0x20, commitsOf(content)[0], commitsOf(content)[0]! + 40),
    ],
    ['has a hole in its header', (content) => content.fill(0, 10, 60)],
    ['is empty', () => Buffer.alloc(0)],
  ])('tells of a newest segment what one tells that comes new to it: it %s', async (_, spoil) => {
    for (const isOtherFile of [false, true]) {
      const disk = await twoLives('one')
      const knowing = new JournalStorage({ root, port: disk, compress: false })
      for (const _ of upTo(2)) expect((await pageOf(knowing, 1, 2)).events).toHaveLength(2)
      const content = spoil(Buffer.from(disk.files().get(newest)!))
      if (isOtherFile) {
        await disk.unlink(newest)
        await disk.open(newest, 'create')
      }
      disk.put(newest, content)
      const stranger = new JournalStorage({ root, port: disk, compress: false })
      for (const from of [0, 4, Number.MAX_SAFE_INTEGER]) {
        expect(await outcomeOf(knowing, from)).toEqual(await outcomeOf(stranger, from))
      }
    }
  })

  it('reads another log that stands there by now, also one in files of the same sizes', async () => {
    const [disk, other] = [await twoLives('one'), await twoLives('two')]
    const knowing = new JournalStorage({ root, port: disk, compress: false })
    expect((await pageOf(knowing, 4, 4)).events[0]?.data).toBe('one')
    for (const [path, content] of other.files()) if (path.startsWith(folder)) disk.put(path, content)
    expect((await pageOf(knowing, 4, 4)).events[0]?.data).toBe('two')
  })

  it('G38: gives no event out of a first batch that was changed since, and verify tells of it', async () => {
    const disk = await twoLives('one')
    const knowing = new JournalStorage({ root, port: disk, compress: false })
    for (const _ of upTo(2)) await pageOf(knowing, 1, 2)
    const content = Buffer.from(disk.files().get(newest)!)
    content.write('X', content.indexOf('one'))
    disk.put(newest, content)
    expect(await codeOf(() => pageOf(knowing, 4, 4))).toBe('CORRUPT')
    expect((await knowing.verify('a')).kind).toBe('damaged')
    const stranger = new JournalStorage({ root, port: disk, compress: false })
    expect(await outcomeOf(knowing, 1, 2)).toEqual(await outcomeOf(stranger, 1, 2))
  })
})

describe('texts of blocks', () => {
  it('are kept four at a time, those that were asked for last, and for a while only', () => {
    let letGo: (() => void) | undefined
    const texts = new BlockTexts({
      later: (_, work) => {
        letGo = work
        return () => (letGo = undefined)
      },
    })
    const text = Buffer.from('text')
    for (const digest of ['a', 'b', 'c', 'd']) texts.keep(digest, text)
    expect(texts.find('a')).toBe(text)
    texts.keep('e', text)
    expect(['a', 'b', 'c', 'd', 'e'].filter((digest) => texts.find(digest))).toEqual(['a', 'c', 'd', 'e'])
    letGo?.()
    expect(['a', 'c', 'd', 'e'].filter((digest) => texts.find(digest))).toEqual([])
    texts.keep('a', text)
    texts.clear()
    expect([texts.find('a'), letGo]).toEqual([undefined, undefined])
  })
})
