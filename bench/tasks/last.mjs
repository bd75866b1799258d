import { expectEqual } from '../expect.mjs'
import { lastRecords } from '../oracle.mjs'

const wanted = 10

/** The last events of a stored session, in a process that did not know it. */
export async function last(system, job) {
  const { id, folder, events } = job
  await system.load()
  await system.open(folder)
  const from = performance.now()
  const found = await system.last(id, wanted)
  const lastMillis = performance.now() - from
  expectEqual(found, lastRecords(system, job, wanted), `the last ${wanted} events`)
  await system.close()
  return { events, figures: { lastMillis } }
}
