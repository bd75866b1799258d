import { Workload } from './workload.mjs'

/** The records that the last events must come back as: made anew from the seed. */
export function lastRecords(system, { size, compacts }, count) {
  let last = []
  for (const { events, compaction = [] } of new Workload({ compacts }).turns(size))
    last = [...last, ...events, ...compaction].slice(-count)
  return last.map((event) => system.recordOf(event))
}

/** What was found and what was to be found, without what a system chooses for itself. */
export function expectedRecord(system, event, found) {
  const expected = system.recordOf(event)
  if (!system.compactsItself || !event.type.startsWith('compact/')) return [found, expected]
  return [pickPlace(found), pickPlace(expected)]
}

const pickPlace = ({ seq, type }) => ({ seq, type })
