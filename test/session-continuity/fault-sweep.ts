import { reasonOf } from '@tidemark/session-continuity'
import { SimulatedDisk, type DiskCall } from '@tidemark/session-persistence/testkit'
import { expect } from 'vitest'
import {
  planned,
  plansFor,
  type FaultPlan,
} from '../../packages/session-persistence/src/testkit/fault/plans.ts'
import { getIn, rank, type Act } from './acts.ts'
import { endAll, heldCountOn, processOn } from './simulated.ts'

/** Every so many plans of an act one, from the first on. */
export interface Sample {
  readonly every: number
}

/** Tries the faults of a medium in an act: what was tried, by the name of the fault. */
export async function sweep(act: Act, { every }: Sample): Promise<ReadonlySet<string>> {
  const calls = await callsOf(act)
  const names = new Set<string>()
  let index = 0
  for (const plan of plansFor(calls)) {
    if (index++ % every !== 0) continue
    names.add(`${plan.kind.name}${plan.isForGood ? ', for good' : ''}`)
    await tryOut(act, plan, calls)
  }
  return names
}

/** The calls of the act itself. */
async function callsOf({ before, act, damage }: Act): Promise<readonly DiskCall[]> {
  const disk = new SimulatedDisk()
  const continuity = processOn(disk)
  const handle = await before(continuity)
  if (damage) await damage(disk)
  const calls: DiskCall[] = []
  disk.onCall = (call) => {
    calls.push(call)
    return undefined
  }
  await act(continuity, handle)
  disk.onCall = undefined
  await endAll(disk)
  return calls
}

async function tryOut(act: Act, plan: FaultPlan, calls: readonly DiskCall[]): Promise<void> {
  const call = calls.find(({ index }) => index === plan.at)
  const where = `${plan.kind.name}, ${plan.isForGood ? 'for good' : 'once'}, ${plan.at}: ${call?.name}`
  const { disk, owed } = await performUnder(act, plan, where)
  const revived = new SimulatedDisk({ image: disk.image() })
  // A day later: whoever signs in again does so after any reset.
  await revived.advance(86_400_000)
  const handle = await getIn(revived, act.refusals)
  expect(rank(handle), where).toBeGreaterThanOrEqual(owed)
  await handle.close()
  for (const each of [revived, disk]) {
    await endAll(each)
    expect(each.openFiles, where).toBe(0)
    expect(heldCountOn(each), where).toBe(0)
  }
}

async function performUnder({ before, act, damage }: Act, plan: FaultPlan, where: string) {
  const disk = new SimulatedDisk()
  const continuity = processOn(disk)
  const handle = await before(continuity)
  if (damage) await damage(disk)
  let owed = handle || damage || disk.changes > 0 ? rank({ generation: 1, sensitivity: 'internal' }) : 0
  disk.onCall = planned(plan)
  try {
    const after = await act(continuity, handle)
    if (after) owed = rank(after)
  } catch (error) {
    expect(reasonOf(error), where).toBe('unavailable')
  }
  disk.onCall = undefined
  return { disk, owed }
}
