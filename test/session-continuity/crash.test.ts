import { reasonOf, type Handle } from '@tidemark/session-continuity'
import { SimulatedDisk, crashStates } from '@tidemark/session-persistence/testkit'
import { describe, expect, it } from 'vitest'
import { acts, getIn, labels, old, rank, type Act, type Reached } from './acts.ts'
import { endAll, openOn, processOn, signedIn } from './simulated.ts'

/** The disk after an act, all that happened in it recorded, and what was acknowledged by then. */
async function perform({ before, act, damage }: Act) {
  const disk = new SimulatedDisk({ isRecorded: true })
  const continuity = processOn(disk)
  const handle = await before(continuity)
  const acknowledged: (Reached & { readonly changes: number })[] = []
  const note = (reached: Reached): void => {
    const { generation, sensitivity } = reached
    acknowledged.push({ changes: disk.changes, generation, sensitivity })
  }
  if (handle) note(handle)
  else if (damage || disk.changes > 0) note({ generation: 1, sensitivity: 'internal' })
  if (damage) await damage(disk)
  const from = disk.changes
  const after = await act(continuity, handle)
  if (after) note(after)
  return { disk, from, acknowledged }
}

describe.each(Object.entries(acts))('a crash in %s', (_, act) => {
  it('at every write leaves a scope that can be resumed, or recovered, at what was acknowledged', async () => {
    const { disk, from, acknowledged } = await perform(act)
    let count = 0
    for (const { image, point, kind, choice } of crashStates(disk.recording, {
      seed: 1,
      from,
      statesMax: 150,
    })) {
      const where = `${kind} before operation ${point}, ${choice}`
      const revived = new SimulatedDisk({ image })
      // A day later: whoever signs in again does so after any reset.
      await revived.advance(86_400_000)
      const handle = await getIn(revived, act.refusals)
      const owed = acknowledged.filter(({ changes }) => changes <= point).map(rank)
      expect(rank(handle), where).toBeGreaterThanOrEqual(Math.max(0, ...owed))
      // And what it does there can be relied upon, after one more crash too.
      await handle.raise('confidential')
      await handle.close()
      const again = await openOn(new SimulatedDisk({ image: revived.image() }), 'resume')
      expect(rank(again), where).toBe(rank(handle))
      await endAll(revived)
      expect(revived.openFiles, where).toBe(0)
      count += 1
    }
    expect(count).toBeGreaterThan(20)
  })

  it('with a failure of the medium at every call is told, and leaves the same', async () => {
    const { disk, from } = await perform(act)
    const calls = disk.calls
    expect(disk.changes).toBeGreaterThan(from)
    const first = (await callsBefore(act)) ?? 0
    for (let at = first; at < calls; at += 1) {
      const { failed, wounded, owed } = await performWithFault(act, at)
      const revived = new SimulatedDisk({ image: wounded.image() })
      await revived.advance(86_400_000)
      const handle = await getIn(revived, act.refusals)
      expect(rank(handle), `call ${at}, ${failed ? 'told' : 'not told'}`).toBeGreaterThanOrEqual(owed)
      await handle.close()
    }
  })
})

async function callsBefore({ before, damage }: Act): Promise<number> {
  const disk = new SimulatedDisk()
  await before(processOn(disk))
  if (damage) await damage(disk)
  return disk.calls
}

async function performWithFault({ before, act, damage }: Act, at: number) {
  const disk = new SimulatedDisk()
  const continuity = processOn(disk)
  const handle = await before(continuity)
  if (damage) await damage(disk)
  let owed = handle || damage || disk.changes > 0 ? rank({ generation: 1, sensitivity: 'internal' }) : 0
  disk.onCall = ({ index }) => (index === at ? { kind: 'refused', code: 'EIO' } : undefined)
  let failed = false
  try {
    const after = await act(continuity, handle)
    if (after) owed = rank(after)
  } catch (error) {
    expect(reasonOf(error)).toBe('unavailable')
    failed = true
  }
  disk.onCall = undefined
  return { failed, wounded: disk, owed }
}

describe('a crash while three instances are at it', () => {
  it('loses nothing that any of them was told, whoever had written it', async () => {
    const disk = new SimulatedDisk({ isRecorded: true })
    const first = await processOn(disk).open({ mode: 'begin', credential: old, scope: 's' })
    const others = await Promise.all([openAs(disk), openAs(disk)])
    const from = disk.changes
    const acknowledged: { readonly changes: number; readonly owed: number }[] = []
    const raise = async (handle: Handle, label: string): Promise<void> => {
      await handle.raise(label)
      acknowledged.push({ changes: disk.changes, owed: 10 + labels.indexOf(label) })
    }
    await Promise.all([
      raise(first, 'internal'),
      raise(others[0], 'confidential'),
      raise(others[1], 'internal').then(() => raise(others[1], 'secret')),
    ])
    for (const { image, point, kind, choice } of crashStates(disk.recording, {
      seed: 2,
      from,
      statesMax: 200,
    })) {
      const where = `${kind} before operation ${point}, ${choice}`
      const owed = acknowledged.filter(({ changes }) => changes <= point).map((each) => each.owed)
      const revived = new SimulatedDisk({ image })
      const handle = await openOn(revived, 'resume')
      expect(rank(handle), where).toBeGreaterThanOrEqual(Math.max(10, ...owed))
      const orphans = await processOn(revived).verify('s', { credential: signedIn(revived) })
      expect(
        orphans.chains.map(({ fault }) => fault),
        where,
      ).toEqual(orphans.chains.map(() => undefined))
    }
  })
})

describe('a value that another instance has written, and not made durable', () => {
  it.each(['/data/store/continuity/scopes/s-s/state-', '/mark/scopes/s-s'])(
    'is durable once somebody else was told of it (%s)',
    async (folder) => {
      const disk = new SimulatedDisk({ isRecorded: true })
      let isTired = false
      const slow = processOn(disk, (path) => isTired && path.startsWith(folder))
      const sleeper = await slow.open({ mode: 'begin', credential: old, scope: 's' })
      const other = await openAs(disk)
      isTired = true
      void sleeper.raise('secret')
      const isThere = () =>
        [...disk.files()].some(([path, bytes]) => path.startsWith(folder) && bytes.includes('secret'))
      while (!isThere()) await disk.advance(1)
      await other.raise('secret')
      for (const { image, kind, choice } of crashStates(disk.recording, { seed: 3, from: disk.changes })) {
        const handle = await openOn(new SimulatedDisk({ image }), 'resume')
        expect(handle.sensitivity, `${kind}, ${choice}`).toBe('secret')
        const witness = [...new SimulatedDisk({ image }).files()].filter(([path]) =>
          path.startsWith('/mark/scopes'),
        )
        expect(
          witness.some(([, bytes]) => bytes.includes('secret')),
          `${kind}, ${choice}`,
        ).toBe(true)
      }
    },
  )
})

function openAs(disk: SimulatedDisk): Promise<Handle> {
  return processOn(disk).open({ mode: 'resume', credential: old, scope: 's' })
}
