import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { cacheFolder } from '../scripts/stamp.mjs'
import { readOptions, usage } from './options.mjs'
import { SampleRecord } from './record.mjs'
import { checkCosts, shortRun, writeBaseline } from './regression.mjs'
import { makeReport, writeReport } from './report.mjs'
import { Run } from './run.mjs'
import { systems } from './systems.mjs'

/** Runs what the words of a command line ask for. Gives the exit code. */
async function main(words) {
  const options = readOptions(words)
  if (options.wrong !== undefined) return tell(`${options.wrong}\n\n${usage}`, 2)
  if (options.help) return tell(usage, 0)
  const folder = resolve(options.folder ?? join(cacheFolder, 'bench'))
  await mkdir(folder, { recursive: true })
  return options.check || options.rebase ? check({ ...options, folder }) : measure({ ...options, folder })
}

async function measure(options) {
  const record = new SampleRecord(options.folder, options)
  if (!options.keep && !options.again) await record.clear()
  const run = new Run(options, async (sample) => {
    progress(sample)
    if (sample.figures) await record.add(sample)
  })
  if (!options.again) await run.everything()
  const { unavailable, failures } = run
  const report = await makeReport({ samples: await record.read(), unavailable, failures }, options)
  console.log(report)
  if (options.quick) console.error('\na quick run: bench/README.md stays as it is')
  else await writeReport(report, options)
  return tellFailures(run)
}

async function check(options) {
  const run = new Run({ ...options, ...shortRun }, progress)
  await run.everything()
  if (options.rebase) await writeBaseline(run.samples)
  const isOk = await checkCosts(run.samples)
  return isOk ? tellFailures(run) : 1
}

function tellFailures({ failures }) {
  for (const failure of failures) console.error(`\nFAILED  ${failure}`)
  return failures.length === 0 ? 0 : 1
}

/** Progress is for who waits; only the report goes to standard output. */
function progress({ task, system, size, round, figures, unavailable, failed }) {
  const about = Object.entries(figures ?? {}).map(
    ([name, value]) => `${name} ${Number(value.toPrecision(4))}`,
  )
  const what = failed ? 'FAILED' : unavailable ? `not available: ${unavailable}` : about.join(', ')
  console.error(`${task} ${size}, round ${round + 1}, ${systems[system].label}: ${what}`)
}

function tell(text, code) {
  console.log(text)
  return code
}

process.exitCode = await main(process.argv.slice(2))
