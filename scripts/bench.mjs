import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { CommandFailed, mustRun, runNode } from './command.mjs'
import { fingerprint } from './fingerprint.mjs'
import { root } from './packages.mjs'
import { setUp } from './setup.mjs'
import { isStamped, stamped } from './stamp.mjs'

const folder = join(root, 'bench')
const job = 'install bench'
const quietly = ['--no-audit', '--no-fund', '--omit-lockfile-registry-resolved']

/** What is compared, beside the benchmark and nowhere else. Native parts are built for one kind of Node. */
function installPeers() {
  const files = ['package.json', 'package-lock.json'].map((name) => join(folder, name))
  const input = fingerprint(files, [process.platform, process.arch, process.versions.modules])
  if (isStamped(job, input) && existsSync(join(folder, 'node_modules'))) return
  stamped(job, input, () => mustRun('npm', ['ci', ...quietly], { cwd: folder }))
}

try {
  setUp()
  installPeers()
  process.exitCode = await runNode([join('bench', 'main.mjs'), ...process.argv.slice(2)])
} catch (error) {
  if (!(error instanceof CommandFailed)) throw error
  console.error(`the benchmark could not be set up: ${error.message}`)
  process.exitCode = 1
}
