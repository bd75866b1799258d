import { describe, expect, it } from 'vitest'
import { expectEqual } from '../../bench/expect.mjs'
import { Figures } from '../../bench/figures.mjs'
import { median, quantile } from '../../bench/numbers.mjs'
import { readOptions } from '../../bench/options.mjs'
import { expectHeld, expectRecords } from '../../bench/oracle.mjs'
import { compareCosts, measureCosts, readBaseline, shortRun, watched } from '../../bench/regression.mjs'
import { targetTable } from '../../bench/tables.mjs'
import { isReached, targets } from '../../bench/targets.mjs'
import { System } from '../../bench/adapters/system.mjs'
import { Workload } from '../../bench/workload.mjs'

interface Sample {
  readonly task: string
  readonly system: string
  readonly size: number
  readonly round: number
  readonly figures: Readonly<Record<string, number>>
}

const sample = (
  task: string,
  system: string,
  figures: Record<string, number>,
  { size = 10_000, round = 0 } = {},
): Sample => ({ task, system, size, round, figures })

/** What a short run measures, where everything costs the raw limit 2, and Tidemark so many times as much. */
function shortSamples(times: number): Sample[] {
  const own = 2 * times
  const pair = (task: string, figure: string, size = 10_000): Sample[] => [
    sample(task, 'raw', { [figure]: 2 }, { size }),
    sample(task, 'tidemark', { [figure]: own }, { size }),
  ]
  return [
    sample('append', 'raw', { eventsPerSecond: 100 }),
    sample('append', 'tidemark', { eventsPerSecond: 100 / times }),
    ...['cpuMicrosPerEvent', 'liveBytesPerEvent', 'sealedBytesPerEvent', 'peakMib'].flatMap((figure) =>
      pair('append', figure),
    ),
    ...pair('latency', 'appendP50Micros'),
    ...pair('latency', 'stallP99Millis'),
    ...pair('resume', 'resumeMillis'),
    sample('resume', 'tidemark', { resumeMillis: 2 }, { size: 1_000 }),
    sample('cold', 'tidemark', { resumeMillis: own }),
    ...pair('fork', 'forkMillis'),
    sample('fork', 'tidemark', { forkWrittenBytes: times }),
    ...pair('last', 'lastMillis'),
    ...pair('brackets', 'bracketMicros'),
    ...pair('list', 'listMillis', 200),
  ]
}

const noTolerance = { time: 0, stall: 0, size: 0, memory: 0, written: 0 }

describe('the figures of a benchmark', () => {
  it('are medians, and their ratios are made in each round', () => {
    expect([median([3, 1, 2]), median([4, 1, 2, 3])]).toEqual([2, 2.5])
    expect(quantile([1, 2, 3, 4], 0.5)).toBe(3)
    const rounds = [
      [10, 1],
      [40, 2],
      [900, 300],
    ]
    const figures = new Figures(
      rounds.flatMap(([own = 0, raw = 0], round) => [
        sample('fork', 'tidemark', { forkMillis: own }, { round }),
        sample('fork', 'raw', { forkMillis: raw }, { round }),
      ]),
    )
    const place = { task: 'fork', figure: 'forkMillis', size: 10_000, system: 'tidemark' }
    expect(figures.value(place)).toBe(40)
    // 10, 20 and 3: not 40 / 2 by chance, and not the mean.
    expect(figures.againstRaw(place)).toBe(10)
    expect(figures.runs).toBe(3)
  })

  it('are missing, and not 0, where nothing was measured, or the limit took no time', () => {
    const figures = new Figures([
      sample('last', 'tidemark', { lastMillis: 5 }),
      sample('last', 'raw', { lastMillis: 0 }),
    ])
    const place = { task: 'last', figure: 'lastMillis', size: 10_000, system: 'tidemark' }
    expect(figures.againstRaw(place)).toBeUndefined()
    expect(figures.value({ ...place, size: 1_000 })).toBeUndefined()
    expect(figures.value({ ...place, figure: 'none' })).toBeUndefined()
  })

  it('are taken of the largest log, and compared with the smallest for growth', () => {
    const figures = new Figures([
      ...[1_000, 100_000].flatMap((size) => [
        sample('append', 'tidemark', { eventsPerSecond: 50 }, { size }),
        sample('append', 'raw', { eventsPerSecond: size }, { size }),
        sample('resume', 'tidemark', { resumeMillis: size === 1_000 ? 20 : 30 }, { size }),
      ]),
    ])
    const found = targets.map((target) => target.measure(figures, 'tidemark'))
    const growth = targets.findIndex(({ max, unit }) => max === 2 && unit === undefined)
    expect(found[0]).toBe(50 / 100_000)
    expect(found[growth]).toBe(1.5)
  })
})

describe('a target', () => {
  it('is reached at its bound, and not past it', () => {
    expect([isReached({ max: 2 }, 2), isReached({ max: 2 }, 2.01)]).toEqual([true, false])
    expect([isReached({ min: 0.85 }, 0.85), isReached({ min: 0.85 }, 0.84)]).toEqual([true, false])
  })

  it('stands in the table with what was measured, and says no where it is missed', () => {
    const samples = [
      sample('append', 'tidemark', { eventsPerSecond: 90, liveBytesPerEvent: 70 }),
      sample('append', 'raw', { eventsPerSecond: 100, liveBytesPerEvent: 100 }),
    ]
    const table = targetTable(new Figures(samples), new Map([['cold tidemark', 'no snapshots']]))
    expect(table).toContain('against the raw asynchronous limit | >= 0.85 | 0.9 | yes |')
    expect(table).toContain('while a session lives, against raw JSON | <= 0.6 | 0.7 | **no** |')
    expect(table).toContain('Not available here: cold (no snapshots).')
  })

  it('compares a log that was sealed with raw JSON, and a cold resume with the resume of the raw limit', () => {
    const figures = new Figures(shortSamples(3))
    const valueOf = (part: string): unknown =>
      targets.find(({ what }) => what(figures).includes(part))?.measure(figures, 'tidemark')
    expect(valueOf('after sealing')).toBe(3)
    expect(valueOf('without a snapshot')).toBe(3)
    expect(valueOf('against resume of')).toBeUndefined() // of one size there is no growth
  })
})

describe('the check of a short run', () => {
  const baseline = { tolerance: noTolerance, costs: measureCosts(shortSamples(2)) }

  it('knows every cost, and a slower run as one that costs more', () => {
    expect(Object.keys(baseline.costs)).toEqual(Object.keys(watched))
    expect(Object.values(baseline.costs)).toEqual(Object.keys(watched).map(() => 2))
    const verdicts = (times: number) =>
      new Set(compareCosts(measureCosts(shortSamples(times)), baseline).map(({ verdict }) => verdict))
    expect([...verdicts(2)]).toEqual(['ok'])
    expect([...verdicts(1)]).toEqual(['ok'])
    expect([...verdicts(2.01)]).toEqual(['worse'])
  })

  it('allows each as much as the tolerance of its kind', () => {
    const costs = measureCosts(shortSamples(2.4))
    const tolerance = { ...noTolerance, time: 0.2 }
    for (const { what, verdict } of compareCosts(costs, { ...baseline, tolerance }))
      expect([what, verdict]).toEqual([what, watched[what as 'resume'].of === 'time' ? 'ok' : 'worse'])
  })

  it('fails for what was not measured, and for what nothing is compared with', () => {
    const { resume: _, ...others } = baseline.costs as Record<string, number>
    const missing = (costs: object, from: object): string[] =>
      compareCosts(costs, { ...baseline, costs: from })
        .filter(({ verdict }) => verdict === 'missing')
        .map(({ what }) => what)
    expect(missing(others, baseline.costs)).toEqual(['resume'])
    expect(missing(baseline.costs, others)).toEqual(['resume'])
    expect(compareCosts(baseline.costs, { tolerance: {}, costs: baseline.costs })[0]?.verdict).toBe('missing')
  })

  it('has a baseline and a tolerance for everything that it watches, and nothing else', async () => {
    const { tolerance, costs } = await readBaseline()
    expect(Object.keys(costs)).toEqual(Object.keys(watched))
    for (const { of } of Object.values(watched)) expect(tolerance[of]).toBeGreaterThan(0)
    for (const cost of Object.values(costs)) expect(cost).toBeGreaterThan(0)
  })

  it('measures all that it watches', () => {
    const { tasks } = readOptions(['--quick']) as { tasks: string[] }
    for (const task of shortRun.tasks) expect(tasks).toContain(task)
    const used = shortSamples(1).map(({ task }) => task)
    expect([...new Set(used)].sort()).toEqual([...shortRun.tasks].sort())
  })
})

describe('what a measured system gives back', () => {
  const job = { size: 200, compacts: false, events: 0 }
  const events = [...new Workload({ compacts: false }).events(job.size)]
  const record = ({ seq, time, type, data }: (typeof events)[number]) => ({ seq, time, type, data })

  async function heldAs(change: (records: object[]) => object[]): Promise<string> {
    class Fake extends System {
      override async *held(): AsyncGenerator<never> {
        yield* change(events.map(record)) as never[]
      }
    }
    try {
      await expectHeld(new Fake(), { ...job, events: events.length }, 'a')
      return 'equal'
    } catch (error) {
      return String(error)
    }
  }

  it('is compared event by event: one that is altered, missing, moved or too many has no figure', async () => {
    expect(await heldAs((records) => records)).toBe('equal')
    expect(await heldAs((records) => records.with(7, { ...records[7], time: 1 }))).toContain('event at 7')
    expect(await heldAs((records) => records.toSpliced(9, 1))).toContain('event at 9')
    expect(await heldAs((records) => records.slice(0, -1))).toContain(`event at ${events.length - 1}`)
    expect(await heldAs((records) => [...records, {}])).toContain('nothing follows')
    expect(await heldAs((records) => records.reverse())).toContain('event at 0')
  })

  it('may not be fewer than the run says, and lists are equal only in their order', async () => {
    const found = (async function* () {
      yield* events.map(record)
    })()
    const compared = expectRecords(new System(), { ...job, events: events.length + 1 }, found)
    await expect(compared).rejects.toThrow('count of events')
    expect(() => expectEqual(['b', 'a'], ['a', 'b'], 'the order')).toThrow('the order')
  })
})

describe('the words of a command line', () => {
  it('are refused where nothing is called so, or no number is meant', () => {
    expect(readOptions(['--peers', 'nobody'])).toHaveProperty('wrong')
    expect(readOptions(['--sizes', '10,x'])).toHaveProperty('wrong')
    expect(readOptions(['--runs', '0'])).toHaveProperty('wrong')
    expect(readOptions(['--nothing'])).toHaveProperty('wrong')
    expect(readOptions(['--sizes', '10,20', '--no-compaction'])).toMatchObject({
      sizes: [10, 20],
      compaction: false,
      runs: 5,
    })
  })
})
