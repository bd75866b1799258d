import { setImmediate as nextLoop } from 'node:timers/promises'
import { diskUse } from '../disk.mjs'
import { cpuMicros, peakMib, residentMib } from '../usage.mjs'
import { Workload } from '../workload.mjs'

/** Memory may still be finding its size before this share of the events. */
const warmShare = 0.2

/** Events as fast as they can be made durable, with one flush a turn. */
export async function append(system, { id, size, folder, compacts }) {
  await system.load()
  await system.open(folder)
  await system.create(id)
  const meter = new Meter(system)
  let warmMib
  for (const { events, compaction } of new Workload({ compacts }).turns(size)) {
    await meter.turn(events)
    if (compaction) await meter.compact(compaction)
    if (warmMib === undefined && meter.count >= warmShare * size) warmMib = residentMib()
    await nextLoop() // a host has other things to do, too
  }
  const memory = { peakMib: peakMib(), growthMib: residentMib() - warmMib }
  const live = await diskUse(folder)
  await system.close()
  await system.seal(id)
  const sealed = await diskUse(folder)
  const perEvent = (value) => value / meter.count
  return {
    events: meter.count,
    figures: {
      eventsPerSecond: meter.count / (meter.millis / 1_000),
      cpuMicrosPerEvent: perEvent(meter.cpuMicros),
      liveBytesPerEvent: perEvent(live.sizeBytes),
      sealedBytesPerEvent: perEvent(sealed.sizeBytes),
      files: sealed.fileCount,
      ...memory,
      ...(meter.compactions > 0 && { compactMillis: meter.compactMillis / meter.compactions }),
    },
  }
}

/** Time and processor time inside the system, without those of the workload itself. */
class Meter {
  count = 0
  millis = 0
  cpuMicros = 0
  compactions = 0
  compactMillis = 0

  constructor(system) {
    this.system = system
  }

  async turn(events) {
    const { system } = this
    const cpu = cpuMicros()
    const from = performance.now()
    if (system.appendWaits) for (const event of events) await system.append(event)
    else for (const event of events) system.append(event)
    await system.flush()
    this.millis += performance.now() - from
    this.cpuMicros += cpuMicros() - cpu
    this.count += events.length
  }

  /** Apart: what it costs is the summary, not the log. */
  async compact(events) {
    const from = performance.now()
    await this.system.compact(events)
    await this.system.flush()
    this.compactMillis += performance.now() - from
    this.compactions += 1
    this.count += events.length
  }
}
