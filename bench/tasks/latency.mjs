import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate as nextLoop } from 'node:timers/promises'
import { quantile } from '../numbers.mjs'
import { Workload } from '../workload.mjs'

const timerMillis = 1
const gapsMax = 1_000_000

/** What one `append` call takes, and how long the event loop stands still meanwhile. */
export async function latency(system, { id, size, folder, compacts }) {
  // Made first, so that the loop does not stand still for it.
  const turns = [...new Workload({ compacts }).turns(size)]
  await system.load()
  await system.open(folder)
  await system.create(id)
  const appends = new Float64Array(turns.reduce((sum, { events }) => sum + events.length, 0))
  const stalls = new Stalls()
  let count = 0
  for (const { events, compaction } of turns) {
    for (const event of events) {
      const from = performance.now()
      const appended = system.append(event)
      if (system.appendWaits) await appended
      appends[count++] = performance.now() - from
    }
    await system.flush()
    await nextLoop()
    if (compaction) await stalls.without(() => system.compact(compaction))
  }
  const figures = stalls.end()
  await system.close()
  appends.sort()
  const micros = (share) => quantile(appends, share) * 1_000
  return {
    events: count,
    figures: { appendP50Micros: micros(0.5), appendP99Micros: micros(0.99), ...figures },
  }
}

/** Two ways to see how late a timer comes: one of our own, and Node's. */
class Stalls {
  gaps = new Float64Array(gapsMax)
  count = 0

  constructor() {
    this.monitor = monitorEventLoopDelay({ resolution: timerMillis })
    this.begin()
  }

  /** A compaction is the summarizer's affair: it counts for nobody. */
  async without(work) {
    clearInterval(this.timer)
    this.monitor.disable()
    await work()
    this.begin()
  }

  begin() {
    this.last = performance.now()
    this.timer = setInterval(() => this.tick(), timerMillis)
    this.monitor.enable()
  }

  tick() {
    const now = performance.now()
    if (this.count < gapsMax) this.gaps[this.count++] = Math.max(0, now - this.last - timerMillis)
    this.last = now
  }

  end() {
    clearInterval(this.timer)
    this.monitor.disable()
    const gaps = this.gaps.subarray(0, this.count).sort()
    const monitored = (nanos) => Math.max(0, nanos / 1e6 - timerMillis)
    return {
      stallP50Millis: quantile(gaps, 0.5),
      stallP99Millis: quantile(gaps, 0.99),
      stallMaxMillis: gaps.at(-1),
      loopDelayP99Millis: monitored(this.monitor.percentile(99)),
    }
  }
}
