import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { delimiter, dirname, join, relative } from 'node:path'
import { installMissing } from './apt.mjs'
import { CommandFailed } from './command.mjs'
import { ltsNode, ltsVersion } from './lts.mjs'
import { readJson, root } from './packages.mjs'
import { cacheFolder } from './stamp.mjs'

const report = join(cacheFolder, 'report.json')
const reporting = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]

/** What failed, to be said once more at the end, where it is found. */
const failures = []

const count = (isOk) => ({ passed: isOk ? 1 : 0, failed: isOk ? 0 : 1 })

function succeeds(command, args, env = process.env) {
  const line = [command, ...args].join(' ')
  const from = Date.now()
  console.log(`\n== ${line}`)
  const isOk =
    spawnSync(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], env }).status === 0
  console.log(`== ${isOk ? 'ok' : 'failed'} after ${Math.round((Date.now() - from) / 1_000)} s: ${line}`)
  if (!isOk) failures.push(line)
  return isOk
}

function tellFailures({ testResults }) {
  for (const { name, message, assertionResults } of testResults) {
    const failed = assertionResults.filter(({ status }) => status === 'failed')
    if (message) failures.push(`${relative(root, name)}: ${message}`)
    for (const { fullName, failureMessages } of failed)
      failures.push(`${relative(root, name)} > ${fullName}\n${failureMessages.join('\n')}`)
  }
}

/** Runs the tests and counts them; a run that fails outside of a test counts as one failure. */
function countTests(command, args, env) {
  rmSync(report, { force: true })
  const isOk = succeeds(command, [...args, ...reporting], env)
  if (!existsSync(report)) return count(false)
  const results = readJson(report)
  tellFailures(results)
  const { numPassedTests, numFailedTests } = results
  return { passed: numPassedTests, failed: isOk ? numFailedTests : Math.max(numFailedTests, 1) }
}

/** Each Node knows of the other: some tests need two. */
const besides = (otherNode) => ({ ...process.env, TIDEMARK_OTHER_NODE: otherNode })

/** The others take minutes, and nothing of a Node but its arithmetic: once is enough. */
const project = 'tests'

function countTestsOn(node) {
  if (node === undefined) return count(false)
  const path = [dirname(node), process.env.PATH].join(delimiter)
  console.log(`\nof the projects of vitest.config.ts only '${project}' is run again on the second Node`)
  return countTests(node, ['scripts/test.mjs', '--project', project], {
    ...besides(process.execPath),
    PATH: path,
  })
}

function ltsOrNothing() {
  try {
    return ltsNode()
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error
    console.log(`Node ${ltsVersion} could not be installed, so nothing was tested on it: ${error.message}`)
    return undefined // counted as a failure
  }
}

mkdirSync(cacheFolder, { recursive: true })
installMissing({ strace: 'strace', xfs_io: 'xfsprogs' })
const lts = ltsOrNothing()
const counts = [
  countTests('npm', ['test', '--'], lts && besides(lts)),
  count(succeeds('npm', ['run', 'demo'])),
  count(succeeds('npm', ['run', 'check'])),
  count(succeeds('npm', ['run', 'test:coverage'])),
  countTestsOn(lts),
]
const sum = (key) => counts.reduce((total, each) => total + each[key], 0)
for (const failure of failures) console.log(`\nfailed: ${failure}`)
console.log(`\n${sum('passed')} passed, ${sum('failed')} failed`)
process.exitCode = sum('failed') === 0 ? 0 : 1
