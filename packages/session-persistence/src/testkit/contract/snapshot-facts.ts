import { assert } from '@tidemark/session-core'
import type { Lease, Snapshot, SnapshotShelf, Tail } from '../../storage.ts'
import { append, appendNext, events, headerOf, newClaim, readBack } from './batches.ts'
import type { Fact, Facts, Scene } from './fact.ts'
import { allRefused, codeOf } from './refusal.ts'

interface Shelved extends Scene {
  readonly shelf: SnapshotShelf
  /** Of a session of three batches, which end at seqs 1, 3 and 5. */
  readonly lease: Lease
  readonly tails: readonly Tail[]
}

function held(fact: (scene: Shelved) => Promise<void>): Fact {
  return async (scene) => {
    const shelf = scene.storage.snapshots
    assert(shelf, 'facts of snapshots are of storages that keep them')
    const lease = await scene.storage.create(headerOf('a'), { claim: newClaim() })
    const tails: Tail[] = []
    for (let batch = 0; batch < 3; batch++) tails.push((await appendNext(lease, 2)).tail)
    await fact({ ...scene, shelf, lease, tails })
  }
}

const snapshot = (at: Tail, text = `state at ${at.seq}`): Snapshot => ({ at, content: Buffer.from(text) })

/** A snapshot as plain values: whoever gives it may have bytes of a class of its own. */
function plain(found: Snapshot | undefined): { at: Tail; content: number[] } | undefined {
  return found && { at: { seq: found.at.seq, digest: found.at.digest }, content: [...found.content] }
}

async function saveEach({ shelf, lease, tails }: Shelved): Promise<void> {
  for (const at of tails) await shelf.save(lease, snapshot(at))
}

/** What a storage with a shelf for snapshots promises. */
export const snapshotFacts: Facts = {
  'a snapshot comes back equal, whatever its bytes, also by another opening and after a takeover': held(
    async ({ place, storage, shelf, lease, expect }) => {
      const at = lease.tail
      const content = Uint8Array.from({ length: 70_000 }, (_, index) => (index * 7) % 256)
      await shelf.save(lease, { at, content })
      expect(plain(await shelf.load('a'))).toEqual({ at, content: [...content] })
      const other = place.open()
      expect(plain(await other.snapshots?.load('a')), 'by another opening').toEqual({
        at,
        content: [...content],
      })
      await storage.acquire('a', { claim: newClaim(), force: true })
      expect(plain(await shelf.load('a')), 'after a takeover').toEqual({ at, content: [...content] })
    },
  ),

  'the newest one is given, and none is of a later seq than is wanted': held(async (scene) => {
    const { shelf, tails, expect } = scene
    await saveEach(scene)
    const [first, second, third] = tails as [Tail, Tail, Tail]
    expect(plain(await shelf.load('a')), 'the newest').toEqual(plain(snapshot(third)))
    expect(plain(await shelf.load('a', third.seq)), 'through its own seq').toEqual(plain(snapshot(third)))
    expect(plain(await shelf.load('a', third.seq - 1)), 'before it').toEqual(plain(snapshot(second)))
    expect(await shelf.load('a', first.seq - 1), 'before all of them').toBeUndefined()
  }),

  'of a session without one there is none, and asking makes none': held(
    async ({ storage, shelf, expect }) => {
      expect(await shelf.load('a')).toBeUndefined()
      expect(await shelf.load('a', -1), 'through -1').toBeUndefined()
      expect((await readBack(storage, 'a')).events, 'the log').toHaveLength(6)
      await allRefused(expect, 'NOT_FOUND', { 'load, of no session,': () => shelf.load('b') })
    },
  ),

  'a writer that was taken over from saves nothing': held(async ({ place, shelf, lease, expect }) => {
    const next = await place.open().acquire('a', { claim: newClaim(), force: true })
    await allRefused(expect, 'FENCED', { save: () => shelf.save(lease, snapshot(lease.tail)) })
    expect(await shelf.load('a')).toBeUndefined()
    await appendNext(next)
  }),

  'what no batch of the log ends with is TAIL_MOVED, and what the log does not hold is never given': held(
    async ({ shelf, lease, expect }) => {
      const { seq, digest } = lease.tail
      const other = digest.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))
      await shelf.save(lease, snapshot(lease.tail))
      await allRefused(expect, 'TAIL_MOVED', {
        'save, ahead of the log,': () => shelf.save(lease, snapshot({ seq: seq + 1, digest })),
        'save, of another log,': () => shelf.save(lease, snapshot({ seq, digest: other })),
        'save, inside of a batch,': () => shelf.save(lease, snapshot({ seq: seq - 1, digest })),
        'save, before all of it,': () => shelf.save(lease, snapshot({ seq: -1, digest: '' })),
      })
      expect(plain(await shelf.load('a')), 'what is given').toEqual(plain(snapshot(lease.tail)))
    },
  ),

  'saving changes nothing that a read gives, and the next append follows': held(async (scene) => {
    const { storage, lease, expect } = scene
    const before = await readBack(storage, 'a')
    await saveEach(scene)
    expect(await readBack(storage, 'a')).toEqual(before)
    await append(lease, events(6, 7))
    expect((await readBack(storage, 'a')).events, 'with two more').toHaveLength(8)
  }),

  'a fork is given no snapshot of what it did not inherit, and keeps its own': held(async (scene) => {
    const { storage, shelf, tails, expect } = scene
    await saveEach(scene)
    const header = headerOf('c', { parent: { id: 'a', seq: 4 }, forkedAt: [4] })
    const child = await storage.fork({ id: 'a', through: 4 }, header, newClaim())
    const inherited = await shelf.load('c')
    if (inherited) expect(plain(snapshot(inherited.at)), 'inherited').toEqual(plain(inherited))
    expect(inherited?.at.seq ?? -1, 'the seq of what is inherited').toBeLessThanOrEqual(4)
    const { tail } = await appendNext(child)
    await shelf.save(child, snapshot(tail, 'the child’s'))
    expect(plain(await shelf.load('c')), 'the child’s own').toEqual(plain(snapshot(tail, 'the child’s')))
    expect(plain(await shelf.load('a')), 'the parent’s').toEqual(plain(snapshot(tails[2] as Tail)))
  }),

  'a removal takes them along, also from the next session of that name': held(async (scene) => {
    const { storage, shelf, lease, expect } = scene
    await saveEach(scene)
    await storage.remove('a')
    await allRefused(expect, 'NOT_FOUND', { 'load, after the removal,': () => shelf.load('a') })
    await allRefused(expect, 'FENCED', {
      'save, after the removal,': () => shelf.save(lease, snapshot(lease.tail)),
    })
    await appendNext(await storage.create(headerOf('a'), { claim: newClaim() }), 6)
    expect(await shelf.load('a'), 'of the next session').toBeUndefined()
  }),

  'a released lease saves nothing': held(async ({ shelf, lease, expect }) => {
    await lease.release()
    await allRefused(expect, 'DISPOSED', {
      'save, after the release,': () => shelf.save(lease, snapshot(lease.tail)),
    })
    expect(await shelf.load('a')).toBeUndefined()
  }),

  'an id that cannot be one is refused, and a closed storage loads and saves nothing': held(
    async ({ storage, shelf, lease, expect }) => {
      await allRefused(expect, 'INVALID_ID', { load: () => shelf.load('') })
      await storage.close()
      await allRefused(expect, 'DISPOSED', { 'load, after the close,': () => shelf.load('a') })
      const code = await codeOf(() => shelf.save(lease, snapshot(lease.tail)), 'save, after the close,')
      expect(['DISPOSED', 'FENCED'], 'how a save is refused after the close').toContain(code)
    },
  ),
}
