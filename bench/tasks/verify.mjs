import { expectEqual } from '../expect.mjs'
import { expectRecords } from '../oracle.mjs'

/** Folding everything again holds all events in memory. */
const foldedCountMax = 100_000

/** Everything that is stored, against the events that were appended. */
export async function verify(system, job) {
  const { id, folder, events } = job
  await system.load()
  await system.open(folder)
  await expectRecords(system, job, system.records(id))
  if (system.transcripts && events <= foldedCountMax) {
    const { resumed, folded } = await system.transcripts(id)
    expectEqual(resumed, folded, 'the transcript')
  }
  await system.close()
  return { events, figures: {} }
}
