import { System } from './adapters/system.mjs'
import { expectEqual } from './expect.mjs'
import { Workload } from './workload.mjs'

/** Comparing all events of a longer log takes longer than what is measured. */
const comparedCountMax = 100_000

/** The records that the last events must come back as: made anew from the seed. */
export function lastRecords(system, { size, compacts }, count) {
  let last = []
  for (const { events, compaction = [] } of new Workload({ compacts }).turns(size))
    last = [...last, ...events, ...compaction].slice(-count)
  return last.map((event) => system.recordOf(event))
}

/** What a session that was opened holds, event by event, against what was appended. Not part of any figure. */
export async function expectHeld(system, job, id) {
  const { events } = job
  if (system.held === System.prototype.held || events > comparedCountMax) return
  await expectRecords(system, job, system.held(id, events))
  if (system.foldedMessages === undefined) return
  expectEqual(system.messages(), await system.foldedMessages(events), 'the transcript')
}

/** The same of records from wherever they come. */
export async function expectRecords(system, { size, events, compacts }, found) {
  let count = 0
  for (const event of new Workload({ compacts }).events(size)) {
    const { value } = await found.next()
    const [stored, appended] = expectedRecord(system, event, value)
    expectEqual(stored, appended, `the event at ${count}`)
    count += 1
  }
  expectEqual((await found.next()).done, true, 'that nothing follows')
  expectEqual(count, events, 'the count of events')
}

/** What was found and what was to be found, without what a system chooses for itself. */
export function expectedRecord(system, event, found) {
  const expected = system.recordOf(event)
  if (found === undefined || !system.compactsItself || !event.type.startsWith('compact/'))
    return [found, expected]
  return [pickPlace(found), pickPlace(expected)]
}

const pickPlace = ({ seq, type }) => ({ seq, type })
