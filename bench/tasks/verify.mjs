import { expectEqual } from '../expect.mjs'
import { expectedRecord } from '../oracle.mjs'
import { Workload } from '../workload.mjs'

/** Folding everything again holds all events in memory. */
const foldedCountMax = 100_000

/** Everything that is stored, against the events that were appended. */
export async function verify(system, { id, folder, size, events, compacts }) {
  await system.load()
  await system.open(folder)
  const found = system.records(id)
  let count = 0
  for (const event of new Workload({ compacts }).events(size)) {
    const { value } = await found.next()
    const [stored, appended] = expectedRecord(system, event, value)
    expectEqual(stored, appended, `the event at ${count}`)
    count += 1
  }
  expectEqual((await found.next()).done, true, 'that nothing follows')
  expectEqual(count, events, 'the count of events')
  if (system.transcripts && events <= foldedCountMax) {
    const { resumed, folded } = await system.transcripts(id)
    expectEqual(resumed, folded, 'the transcript')
  }
  await system.close()
  return { events: count, figures: {} }
}
