import { readFile, writeFile } from 'node:fs/promises'
import { Figures } from './figures.mjs'

const path = new URL('baseline.json', import.meta.url)
const size = 10_000

/** A run short enough to be made at each change. */
export const shortRun = {
  sizes: [size],
  runs: 5,
  peers: ['tidemark', 'raw'],
  tasks: ['append', 'latency', 'resume', 'cold', 'fork', 'last', 'brackets'],
}

/** Each is a cost against one of the raw limit, so that more is worse; `of` says what the tolerance depends on. */
const watched = {
  'processor time of a durable event': { task: 'append', figure: 'cpuMicrosPerEvent', of: 'time' },
  'one append call, p50': { task: 'latency', figure: 'appendP50Micros', of: 'time' },
  'bytes on disk, live': { task: 'append', figure: 'liveBytesPerEvent', of: 'size' },
  'bytes on disk, sealed': { task: 'append', figure: 'sealedBytesPerEvent', of: 'size' },
  resume: { task: 'resume', figure: 'resumeMillis', of: 'time' },
  'resume without a snapshot': { task: 'cold', figure: 'resumeMillis', base: { task: 'resume' }, of: 'time' },
  'fork, time': { task: 'fork', figure: 'forkMillis', of: 'time' },
  'fork, bytes written': { task: 'fork', figure: 'forkWrittenBytes', of: 'size' },
  'last 10 events': { task: 'last', figure: 'lastMillis', of: 'time' },
  'bracket status': { task: 'brackets', figure: 'bracketMicros', of: 'time' },
}

/** Compares the ratios of a short run with the baseline. True when none is worse than the tolerance allows. */
export async function checkRatios(samples) {
  const { tolerance, ratios: baseline } = JSON.parse(await readFile(path, 'utf8'))
  const ratios = measure(samples)
  let isOk = true
  for (const [what, { of }] of Object.entries(watched)) {
    const [now, before] = [ratios[what], baseline[what]]
    const most = before === undefined ? Infinity : before * (1 + tolerance[of])
    const isWorse = now === undefined ? before !== undefined : now > most
    isOk &&= !isWorse
    const verdict = now === undefined && before === undefined ? 'n/a   ' : isWorse ? 'WORSE ' : 'ok    '
    console.log(`${verdict}  ${what}: ${show(now)}, baseline ${show(before)}, at most ${show(most)}`)
  }
  return isOk
}

export async function writeBaseline(samples) {
  const { tolerance } = JSON.parse(await readFile(path, 'utf8'))
  await writeFile(path, `${JSON.stringify({ tolerance, ratios: measure(samples) }, undefined, 2)}\n`)
}

function measure(samples) {
  const figures = new Figures(samples)
  const found = Object.entries(watched).map(([what, { task, figure, base }]) => {
    const ratio = figures.againstRaw({ task, figure, size, system: 'tidemark' }, base)
    return [what, ratio === undefined ? undefined : Number(ratio.toPrecision(4))]
  })
  return Object.fromEntries(found)
}

const show = (value) => (value === undefined ? 'none' : String(Number(value.toPrecision(4))))
