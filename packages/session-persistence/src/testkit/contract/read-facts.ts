import type { Lease, Receipted, Tail } from '../../storage.ts'
import {
  append,
  appendNext,
  batchesOf,
  events,
  headerOf,
  newClaim,
  readBack,
  seqsOf,
  upTo,
} from './batches.ts'
import type { Fact, Facts, Scene } from './fact.ts'
import { allRefused } from './refusal.ts'

interface Written extends Scene {
  readonly lease: Lease
  /** Where the log ended after each batch. */
  readonly tails: readonly Tail[]
}

/** On a log of seven events in three batches, and two epochs. */
function written(fact: (scene: Written) => Promise<void>): Fact {
  return async (scene) => {
    const { storage } = scene
    const first = await storage.create(headerOf('a'), { claim: newClaim() })
    const tails = [(await append(first, events(0, 2))).tail, (await append(first, events(3, 3))).tail]
    await first.release()
    const lease = await storage.acquire('a', { claim: newClaim() })
    tails.push((await append(lease, events(4, 6))).tail)
    await fact({ ...scene, lease, tails })
  }
}

/** What no log of these was ever told to end with: no batch of it ended there, or not with that content. */
function untold(tails: readonly Tail[]): Receipted[] {
  const { seq, digest } = tails.at(-1) ?? { seq: -1, digest: '' }
  const inside = tails.flatMap((tail) => [
    { seq: seq - 1, digest: tail.digest },
    { seq: 1, digest: tail.digest },
  ])
  return [
    ...inside,
    { seq: seq - 1, digest: 'f'.repeat(64) },
    { seq: seq + 1 },
    { seq, digest: 'f'.repeat(64) },
    { seq: seq + 1, digest },
    { seq: seq + 100, digest: 'f'.repeat(64) },
  ]
}

export const readFacts: Facts = {
  'a read from the middle gives what is wanted, and the tail in any case': written(
    async ({ storage, lease, expect }) => {
      for (const from of [0, 2, 4, 6, 7, 50]) {
        const found = await readBack(storage, 'a', from)
        const wanted = upTo(7).filter((seq) => seq >= from)
        expect(seqsOf(found.events), `the seqs of a read from ${from}, inside a batch or not`).toEqual(wanted)
        expect(found.tail, `the tail of the last batch of a read from ${from}`).toEqual(lease.tail)
      }
    },
  ),

  'a read up to a seq gives nothing after it, also from inside a batch': written(
    async ({ storage, expect }) => {
      for (const [from, through] of [
        [0, 6],
        [0, 2],
        [1, 4],
        [3, 3],
        [0, 0],
        [5, 5],
        [2, 50],
      ] as const) {
        const batches = await batchesOf(storage, 'a', { from, through })
        const found = batches.flatMap(({ events: each }) => seqsOf(each))
        expect(found, `the seqs of a read from ${from} through ${through}`).toEqual(
          upTo(7).filter((seq) => seq >= from && seq <= through),
        )
      }
    },
  ),

  'a read up to a seq gives its batches the tails that they had': written(
    async ({ storage, tails, expect }) => {
      const batches = await batchesOf(storage, 'a', { through: 3 })
      const found = batches.filter(({ events: each }) => each.length > 0).map(({ tail }) => tail)
      expect(found, 'the tails of the batches with events').toEqual(tails.slice(0, 2))
    },
  ),

  'a receipt of any batch is honoured by reads and by claims': written(async ({ storage, tails, expect }) => {
    const before = await readBack(storage, 'a')
    for (const receipt of tails) {
      const batches = await batchesOf(storage, 'a', { receipt })
      const to = `a read with the receipt of seq ${receipt.seq}`
      expect(
        batches.flatMap(({ events: each }) => each),
        `the events of ${to}`,
      ).toEqual(before.events)
      // A receipt is a proof of its own, so the last batch of the log has one here, too.
      const told = batches.findLast(({ tail }) => tail.seq === receipt.seq)
      expect(told?.isDurable, `isDurable of the batch that ends there, in ${to}`).toBe(true)
      await batchesOf(storage, 'a', { receipt: { seq: receipt.seq } })
      const lease = await storage.acquire('a', { claim: newClaim(), force: true, receipt })
      expect(lease.tail, `the tail of a claim with the receipt of seq ${receipt.seq}`).toEqual(tails.at(-1))
    }
  }),

  'a receipt of what a read does not want is not judged by it': written(
    async ({ storage, tails, expect }) => {
      const receipt = { seq: 100, digest: 'f'.repeat(64) }
      const batches = await batchesOf(storage, 'a', { through: 2, receipt })
      const last = batches.findLast(({ events: each }) => each.length > 0)
      expect(last?.tail, 'the tail of the last batch that is wanted').toEqual(tails[0])
    },
  ),

  'a log that does not hold what a receipt says is refused, and is as it was': written(
    async ({ storage, lease, tails, expect }) => {
      const before = await batchesOf(storage, 'a')
      for (const receipt of untold(tails)) {
        const told = `with the receipt ${JSON.stringify(receipt)},`
        await allRefused(expect, 'CORRUPT', {
          [`read, ${told}`]: () => batchesOf(storage, 'a', { receipt }),
          [`acquire, ${told}`]: () => storage.acquire('a', { claim: newClaim(), force: true, receipt }),
        })
      }
      expect(await batchesOf(storage, 'a'), 'the log afterwards').toEqual(before)
      await appendNext(lease)
    },
  ),
}
