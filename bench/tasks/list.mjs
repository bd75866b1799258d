import { expectEqual } from '../expect.mjs'
import { Workload } from '../workload.mjs'

const pageCountMax = 50

const idOf = (index) => `session-${String(index).padStart(6, '0')}`

/** Many stored sessions, of a first turn each. */
export async function makeList(system, { folder, sessions }) {
  system.refuseMissing('list')
  await system.load()
  await system.open(folder)
  const workload = new Workload()
  const from = performance.now()
  for (let index = 0; index < sessions; index++) {
    workload.seq = 0
    await system.create(idOf(index))
    const events = workload.interruptedTurn()
    for (const event of events) await system.append(event)
    await system.flush()
  }
  const makeMillis = (performance.now() - from) / sessions
  await system.close()
  return { events: sessions, figures: { makeMillis } }
}

/** The first page of them, in a process that did not know them. */
export async function list(system, { folder, sessions }) {
  await system.load()
  const from = performance.now()
  await system.open(folder)
  const ids = await system.list(pageCountMax)
  const listMillis = performance.now() - from
  const count = Math.min(pageCountMax, sessions)
  const newest = Array.from({ length: count }, (_, index) => idOf(sessions - 1 - index))
  const [found, due] = system.listsInOrder ? [ids, newest] : [[...ids].sort(), [...newest].sort()]
  expectEqual(found, due, 'the newest sessions, newest first')
  await system.close()
  return { events: sessions, figures: { listMillis } }
}
