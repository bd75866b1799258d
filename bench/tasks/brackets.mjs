import { expectEqual } from '../expect.mjs'
import { median } from '../numbers.mjs'
import { Workload } from '../workload.mjs'

const looksMax = 1_001
const looksMin = 5
const timeMaxMillis = 10_000

/** Whether a turn is open at the end of a long log, asked anew after each append. */
export async function brackets(system, { id, folder, round }) {
  await system.load()
  await system.open(folder)
  await system.resume(id)
  const length = system.length()
  const workload = new Workload({ seed: 100 + round, seq: length })
  const interrupted = workload.interruptedTurn()
  for (const event of interrupted) await system.appendLive(event)
  const looks = []
  const clocks = []
  const startedAt = performance.now()
  while (looks.length < looksMax) {
    await system.appendLive(workload.chunk())
    const before = performance.now()
    const from = performance.now()
    const found = system.openTurn()
    const seq = found instanceof Promise ? await found : found
    looks.push((performance.now() - from) * 1_000)
    clocks.push((from - before) * 1_000)
    if (seq !== interrupted[0].seq) expectEqual(seq, interrupted[0].seq, 'the seq of the open turn')
    if (looks.length >= looksMin && performance.now() - startedAt > timeMaxMillis) break
  }
  await system.flush()
  await system.close()
  // A look takes about as long as it takes to look at the clock.
  return { events: length, figures: { bracketMicros: Math.max(0, median(looks) - median(clocks)) } }
}
