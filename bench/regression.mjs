import { readFile, writeFile } from 'node:fs/promises'
import { Figures } from './figures.mjs'

const path = new URL('baseline.json', import.meta.url)
const [small, size] = [1_000, 10_000]
const sessions = 200

/** A run short enough to be made at each change. */
export const shortRun = {
  sizes: [small, size],
  runs: 3,
  sessions,
  peers: ['tidemark', 'raw'],
  tasks: ['append', 'latency', 'resume', 'cold', 'fork', 'last', 'brackets', 'list'],
}

/** Against the same cost of the raw limit, in the same round. */
const ofRaw =
  (task, figure, base = {}) =>
  (figures) =>
    figures.againstRaw({ task, figure, system: 'tidemark', size: task === 'list' ? sessions : size }, base)

/** A speed is a cost the other way round. */
const inverse = (measure) => (figures) => {
  const ratio = measure(figures)
  return ratio === undefined ? undefined : 1 / ratio
}

/** A size as it is: what no other system and no machine has a part in. */
const plain = (task, figure) => (figures) => figures.value({ task, figure, size, system: 'tidemark' })

/** Against a log of a tenth of the length. */
const growth = (task, figure) => (figures) => {
  const place = { task, figure, system: 'tidemark' }
  return figures.ratio({ ...place, size }, { ...place, size: small })
}

/** Each is a cost, so that more is worse, and none is a time of its own; `of` says what the tolerance depends on. */
export const watched = {
  'time of a durable event': { of: 'time', measure: inverse(ofRaw('append', 'eventsPerSecond')) },
  'processor time of a durable event': { of: 'time', measure: ofRaw('append', 'cpuMicrosPerEvent') },
  'one append call, p50': { of: 'time', measure: ofRaw('latency', 'appendP50Micros') },
  'event loop: how late a timer comes, p99': { of: 'stall', measure: ofRaw('latency', 'stallP99Millis') },
  'bytes on disk, live': { of: 'size', measure: ofRaw('append', 'liveBytesPerEvent') },
  'bytes on disk, sealed': { of: 'size', measure: ofRaw('append', 'sealedBytesPerEvent') },
  'memory while appending, peak': { of: 'memory', measure: ofRaw('append', 'peakMib') },
  resume: { of: 'time', measure: ofRaw('resume', 'resumeMillis') },
  'resume, against a log of a tenth': { of: 'time', measure: growth('resume', 'resumeMillis') },
  'resume without a snapshot': { of: 'time', measure: ofRaw('cold', 'resumeMillis', { task: 'resume' }) },
  'fork, time': { of: 'time', measure: ofRaw('fork', 'forkMillis') },
  'fork, bytes written': { of: 'written', measure: plain('fork', 'forkWrittenBytes') },
  'last 10 events': { of: 'time', measure: ofRaw('last', 'lastMillis') },
  'bracket status': { of: 'time', measure: ofRaw('brackets', 'bracketMicros') },
  'first page of a list': { of: 'time', measure: ofRaw('list', 'listMillis') },
}

/** What a run came to, by the names of what is watched; without what it did not measure. */
export function measureCosts(samples) {
  const figures = new Figures(samples)
  const found = Object.entries(watched).map(([what, { measure }]) => [what, measure(figures)])
  const known = found.filter(([, cost]) => cost !== undefined)
  return Object.fromEntries(known.map(([what, cost]) => [what, Number(cost.toPrecision(4))]))
}

/**
 * A verdict for each cost that is watched: `ok`, `worse` by more than the tolerance allows, or `missing`, which is no
 * better: what is not measured, or has nothing to be compared with, is not guarded.
 */
export function compareCosts(costs, { tolerance, costs: baseline }) {
  return Object.entries(watched).map(([what, { of }]) => {
    const [now, before] = [costs[what], baseline[what]]
    const most = before * (1 + tolerance[of])
    if (now === undefined || Number.isNaN(most)) return { what, now, before, verdict: 'missing' }
    return { what, now, before, most, verdict: now > most ? 'worse' : 'ok' }
  })
}

/** Compares the costs of a short run with the baseline. True when every one is there, and none is worse. */
export async function checkCosts(samples) {
  const compared = compareCosts(measureCosts(samples), await readBaseline())
  for (const { what, now, before, most, verdict } of compared)
    console.log(`${verdict.padEnd(8)} ${what}: ${show(now)}, baseline ${show(before)}, at most ${show(most)}`)
  return compared.every(({ verdict }) => verdict === 'ok')
}

export async function writeBaseline(samples) {
  const { tolerance } = await readBaseline()
  await writeFile(path, `${JSON.stringify({ tolerance, costs: measureCosts(samples) }, undefined, 2)}\n`)
}

export async function readBaseline() {
  return JSON.parse(await readFile(path, 'utf8'))
}

const show = (value) => (value === undefined ? 'none' : String(Number(value.toPrecision(4))))
