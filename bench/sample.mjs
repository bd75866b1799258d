import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { machineCpuSeconds } from './usage.mjs'
import { nodeFor } from './systems.mjs'

const timeMaxMillis = 1_200_000
const errorLengthMax = 2_000
const worker = fileURLToPath(new URL('worker.mjs', import.meta.url))

/**
 * Runs one job in a process of its own. `{ events, figures, busyElsewhere }`, `{ unavailable }`, or `{ failed }`.
 * `busyElsewhere` is how many processors others used meanwhile.
 */
export async function takeSample(job) {
  const node = nodeFor(job.system)
  if (node === undefined) return { unavailable: 'needs Node 24, which is not installed for this platform' }
  const before = { cpuSeconds: machineCpuSeconds(), at: performance.now() }
  const { output, errors, end } = await runProcess(node, ['--expose-gc', worker, JSON.stringify(job)])
  if (end !== 0) return { failed: `ended with ${end}: ${errors.slice(-errorLengthMax)}` }
  const { cpuSeconds, ...result } = JSON.parse(output.trimEnd().split('\n').at(-1))
  if (before.cpuSeconds === undefined) return result
  const others = machineCpuSeconds() - before.cpuSeconds - cpuSeconds
  const busyElsewhere = Math.max(0, (others * 1_000) / (performance.now() - before.at))
  return { ...result, busyElsewhere }
}

function runProcess(node, args) {
  const child = spawn(node, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: timeMaxMillis,
    killSignal: 'SIGKILL',
  })
  let output = ''
  let errors = ''
  child.stdout.on('data', (piece) => (output += piece))
  child.stderr.on('data', (piece) => (errors += piece))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ output, errors, end: code ?? signal }))
  })
}
