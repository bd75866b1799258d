import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { captureNode, toolPath } from './command.mjs'
import { listPackages, root } from './packages.mjs'
import { setUp } from './setup.mjs'

const atOnce = 2

function listSteps() {
  const packages = listPackages().map((each) => relative(root, each.path))
  const projects = [...packages, 'test', '.'].filter((folder) =>
    existsSync(join(root, folder, 'tsconfig.json')),
  )
  const attw = toolPath('@arethetypeswrong/cli', 'attw')
  const publint = toolPath('publint')
  return [
    { name: 'eslint', args: [toolPath('eslint'), '.', '--max-warnings=0'] },
    { name: 'prettier', args: [toolPath('prettier'), '--check', '.'] },
    ...projects.map((folder) => ({
      name: `types ${folder}`,
      args: [toolPath('typescript', 'tsc'), '--noEmit', '-p', folder],
    })),
    { name: 'knip', args: [toolPath('knip')] },
    { name: 'tidy', args: ['scripts/tidy.mjs'] },
    ...packages.flatMap((folder) => [
      { name: `publint ${folder}`, args: [publint, folder, '--strict', '--pack', 'npm'] },
      { name: `attw ${folder}`, args: [attw, '--pack', folder, '--profile', 'esm-only', '--quiet'] },
    ]),
  ]
}

async function runStep({ name, args }) {
  const startedAt = performance.now()
  const { ok, output } = await captureNode(args)
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
  console.log(`${ok ? 'ok    ' : 'FAILED'}  ${name}  ${seconds} s`)
  if (!ok) console.log(output.trimEnd().replaceAll(/^/gm, '        '))
  return ok
}

async function runAll(steps) {
  const waiting = [...steps]
  const results = []
  const work = async () => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift())
      results.push(await runStep(step))
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return results
}

setUp()
const results = await runAll(listSteps())
const failed = results.filter((ok) => !ok).length
console.log(failed === 0 ? `all ${results.length} checks ok` : `${failed} of ${results.length} checks failed`)
process.exitCode = failed === 0 ? 0 : 1
