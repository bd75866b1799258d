import { diskUse } from '../disk.mjs'
import { expectEqual } from '../expect.mjs'
import { writtenBytes } from '../usage.mjs'
import { expectHeld, lastRecords } from '../oracle.mjs'

/** A durable session that goes on from the last event of a stored one. */
export async function fork(system, job) {
  const { id, folder, events, round } = job
  await system.load()
  await system.open(folder)
  await system.beforeFork(id)
  const before = { disk: await diskUse(folder), written: writtenBytes() }
  const childId = `fork-${round}`
  const from = performance.now()
  await system.fork(id, { childId, through: events - 1 })
  const forkMillis = performance.now() - from
  // What it leaves to be written a moment later counts, too.
  const { sizeBytes } = await diskUse(folder)
  const written = writtenBytes()
  await expectHeld(system, job, childId)
  const { count, last } = await system.inherited()
  expectEqual(count, events, 'the count of inherited events')
  expectEqual(last, lastRecords(system, job, 1)[0], 'the last inherited event')
  await system.close()
  const forkBytes = sizeBytes - before.disk.sizeBytes
  const figures = { forkMillis, forkBytes, ...(written && { forkWrittenBytes: written - before.written }) }
  return { events: count, figures }
}
