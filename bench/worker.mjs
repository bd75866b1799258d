import { append } from './tasks/append.mjs'
import { brackets } from './tasks/brackets.mjs'
import { fork } from './tasks/fork.mjs'
import { last } from './tasks/last.mjs'
import { latency } from './tasks/latency.mjs'
import { list, makeList } from './tasks/list.mjs'
import { cold, parse, resume } from './tasks/resume.mjs'
import { verify } from './tasks/verify.mjs'
import { NotAvailable } from './adapters/system.mjs'
import { loadSystem } from './systems.mjs'

// One measurement, in a process of its own: `node worker.mjs <job as JSON>`; the last line printed is the result.
const tasks = { append, brackets, cold, fork, last, latency, list, makeList, parse, resume, verify }

async function run(job) {
  const system = await loadSystem(job.system)
  try {
    return await tasks[job.task](system, job)
  } catch (error) {
    if (!(error instanceof NotAvailable)) throw error
    return { unavailable: error.message }
  }
}

const result = await run(JSON.parse(process.argv[2]))
const { userCPUTime, systemCPUTime } = process.resourceUsage()
const cpuSeconds = (userCPUTime + systemCPUTime) / 1e6
// A system may leave timers behind, which are nobody's concern here.
process.stdout.write(`\n${JSON.stringify({ ...result, cpuSeconds })}\n`, () => process.exit(0))
