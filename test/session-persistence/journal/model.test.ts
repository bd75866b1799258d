import { isSessionError } from '@tidemark/session-core'
import { encodeEvent, type Lease } from '@tidemark/session-persistence'
import { JournalStorage, type JournalPort } from '@tidemark/session-persistence/journal'
import { SimulatedDisk, crashStates, type DiskImage } from '@tidemark/session-persistence/testkit'
import { expect, it } from 'vitest'
import { append, appendNext, event, headerOf, newClaim, readBack, seqsOf, upTo } from '../batches.ts'
import { paced } from './paced-port.ts'

const root = '/journal'
const runs = 150
const claimants = 3

/** The same numbers for the same seed. */
function chanceOf(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Lets the calls of many writers go on one at a time, in an order that the seed decides. */
class Turns {
  private readonly waiting: (() => void)[] = []

  constructor(private readonly chance: (below: number) => number) {}

  take = (): Promise<void> => new Promise((resolve) => this.waiting.push(resolve))

  /** Gives so many turns, or fewer when nobody waits any more. Whoever has none is stopped in its call. */
  async give(count: number): Promise<void> {
    for (let given = 0; given < count; given++) {
      await new Promise((resolve) => setImmediate(resolve))
      if (this.waiting.length === 0) return
      const [next] = this.waiting.splice(this.chance(this.waiting.length), 1)
      next!()
    }
  }
}

type Told = Map<number, string>

/** Every other run rotates with nearly each append, and packs what is sealed. */
const openFor = (seed: number, port: JournalPort): JournalStorage =>
  new JournalStorage({ root, port, ...(seed % 2 === 1 && { segmentSizeBytesMax: 900 }) })

async function write(storage: JournalStorage, who: string, told: Told): Promise<void> {
  for (const attempt of upTo(2)) {
    try {
      const lease = await storage.acquire('a', { claim: newClaim() })
      for (const _ of upTo(2)) await appendOne(lease, `${who}${attempt}`, told)
      await lease.release()
    } catch (error) {
      if (!isSessionError(error)) throw error
      expect(['FENCED', 'LOCKED', 'STORAGE_FAILED', 'OUTCOME_UNKNOWN']).toContain(error.code)
    }
  }
}

async function appendOne(lease: Lease, who: string, told: Told): Promise<void> {
  const seq = lease.tail.seq + 1
  await append(lease, [encodeEvent(event(seq, who))])
  expect(told.has(seq)).toBe(false)
  told.set(seq, who)
}

async function expectKept(image: DiskImage, told: Told, where: string): Promise<void> {
  const open = (port: JournalPort): JournalStorage => new JournalStorage({ root, port })
  const disk = new SimulatedDisk({ image })
  const check = async (): Promise<number> => {
    const { events } = await readBack(open(disk), 'a')
    expect(seqsOf(events), where).toEqual(upTo(events.length))
    for (const [seq, who] of told) expect(events[seq]?.data, `${where}, seq ${seq}`).toBe(who)
    return events.length
  }
  await check()
  const lease = await open(disk).acquire('a', { claim: newClaim() })
  await appendNext(lease)
  await lease.release()
  expect(await check()).toBe(lease.tail.seq + 1)
  expect((await open(disk).acquire('a', { claim: newClaim() })).tail).toEqual(lease.tail)
}

async function prepare(): Promise<DiskImage> {
  const disk = new SimulatedDisk()
  const lease = await new JournalStorage({ root, port: disk }).create(headerOf('a'), { claim: newClaim() })
  await append(lease, [encodeEvent(event(0, 'first'))])
  return disk.image()
}

it('whatever claimants do at once, stopped anywhere, with syncs that fail and the power cut: nothing told is lost', async () => {
  const prepared = await prepare()
  let states = 0
  let toldCount = 0
  for (let seed = 0; seed < runs; seed++) {
    const chance = chanceOf(seed)
    const disk = new SimulatedDisk({ image: prepared })
    const pages = (['kept', 'clean', 'dropped'] as const)[chance(3)]!
    disk.onCall = ({ name }) =>
      name === 'sync' && chance(25) === 0 ? { kind: 'refused', code: 'EIO', pages } : undefined
    const told: Told = new Map([[0, 'first']])
    const turns = new Turns(chance)
    const writers = upTo(claimants).map((who) =>
      write(openFor(seed, paced(disk, turns.take)), `w${who}-`, told),
    )
    await turns.give(20 + chance(260))

    const image = disk.image()
    const known = new Map(told)
    await expectKept(image, known, `seed ${seed}, killed`)
    const cuts = crashStates({ operations: [], images: [image] }, { seed, statesMax: 8 })
    for (const { kind, choice, image: left } of cuts) {
      if (kind !== 'power') continue
      states += 1
      await expectKept(left, known, `seed ${seed}, ${choice}`)
    }

    // Somebody takes over from those that were stopped, and then they go on.
    disk.onCall = undefined
    const taker = await new JournalStorage({ root, port: disk }).acquire('a', { claim: newClaim() })
    await appendOne(taker, 'taker', told)
    await turns.give(Infinity)
    await Promise.all(writers)
    await expectKept(disk.image(), told, `seed ${seed}, continued`)
    toldCount += told.size
  }
  expect(states).toBeGreaterThan(runs)
  expect(toldCount).toBeGreaterThan(runs * 2)
}, 600_000)
