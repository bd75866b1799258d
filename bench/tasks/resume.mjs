import { expectEqual } from '../expect.mjs'
import { expectHeld } from '../oracle.mjs'
import { peakMib, residentMib, resetPeak } from '../usage.mjs'

/** A stored session in a process that has the packages loaded and nothing else. */
export async function resume(system, job) {
  const { id, folder, events } = job
  await system.load()
  resetPeak()
  const before = residentMib()
  const from = performance.now()
  await system.open(folder)
  const opened = performance.now()
  const count = await system.resume(id)
  const resumed = performance.now()
  const mib = peakMib() - before
  expectEqual(count, events, 'the count of events of the resumed session')
  const figures = { resumeMillis: resumed - from, openMillis: opened - from, resumeMib: mib }
  const messages = await firstMessages(system)
  await expectHeld(system, job, id)
  await system.close()
  return { events: count, figures: { ...figures, ...messages } }
}

/** Without the snapshots that earlier lives left. */
export async function cold(system, job) {
  await system.dropSnapshots(job.folder)
  return resume(system, job)
}

/** Reads and parses what stands one event a line. */
export async function parse(system, { id, folder, events }) {
  await system.open(folder)
  const from = performance.now()
  const count = await system.parse(id)
  const parseMillis = performance.now() - from
  expectEqual(count, events, 'the count of parsed events')
  return { events: count, figures: { parseMillis } }
}

/** The first look at what the model sees: a resume must not leave its cost to it unseen. */
async function firstMessages(system) {
  const from = performance.now()
  const count = system.ifAvailable(() => system.countMessages())
  return count === undefined ? {} : { messagesMillis: performance.now() - from, messages: count }
}
