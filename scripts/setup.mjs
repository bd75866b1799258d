import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { CommandFailed, isMain, mustRun, toolPath } from './command.mjs'
import { fingerprint } from './fingerprint.mjs'
import { withLock } from './lock.mjs'
import { listPackages, readJson, root } from './packages.mjs'
import { cacheFolder, isStamped, stamped } from './stamp.mjs'

/** Installs and builds what is missing or out of date; with nothing to do it needs neither network nor time. */
export function setUp() {
  if (jobsToDo().length === 0) return
  try {
    withLock(join(cacheFolder, 'setup.lock'), () => {
      for (const job of jobsToDo()) stamped(job.name, job.input, job.run)
    })
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error
    console.error(`set-up stopped: ${error.message}`)
    process.exit(1)
  }
}

function jobsToDo() {
  const packages = listPackages()
  const install = installJob(packages)
  const builds = buildJobs(packages, install.input)
  return [install, ...builds].filter((job) => !isStamped(job.name, job.input) || !job.isIntact())
}

function installJob(packages) {
  const manifests = [root, ...packages.map((each) => each.path)].map((path) => join(path, 'package.json'))
  const workspace = ['pnpm-lock.yaml', 'pnpm-workspace.yaml'].map((name) => join(root, name))
  const { packageManager } = readJson(join(root, 'package.json'))
  return {
    name: 'install',
    input: fingerprint([...manifests, ...workspace], [process.platform, process.arch]),
    isIntact: () => packages.every((each) => existsSync(join(each.path, 'node_modules'))),
    run: () => mustRun('npx', ['--yes', packageManager, 'install', '--frozen-lockfile', '--prefer-offline']),
  }
}

function buildJobs(packages, installed) {
  const inputs = new Map()
  return packages.map(({ path, name, manifest, needs }) => {
    const sources = ['src', 'package.json', 'tsconfig.json', 'tsup.config.ts'].map((each) => join(path, each))
    const base = join(root, 'tsconfig.base.json')
    // A package's types are built from its neighbours' built types, so it is out of date when they are.
    const input = fingerprint([...sources, base], [installed, ...needs.map((each) => inputs.get(each))])
    inputs.set(name, input)
    return {
      name: `build ${name}`,
      input,
      isIntact: () => builtFiles(manifest).every((file) => existsSync(join(path, file))),
      run: () => mustRun(process.execPath, [toolPath('tsup'), '--silent'], { cwd: path }),
    }
  })
}

const builtFiles = (manifest) =>
  Object.values(manifest.exports).flatMap((target) =>
    typeof target === 'string' ? target : Object.values(target),
  )

if (isMain(import.meta.url)) setUp()
