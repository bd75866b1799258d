import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { mustRun, toolPath } from '../../../scripts/command.mjs'
import { fingerprint } from '../../../scripts/fingerprint.mjs'
import { withLock } from '../../../scripts/lock.mjs'
import { listPackages } from '../../../scripts/packages.mjs'
import { cacheFolder, isStamped, stamped } from '../../../scripts/stamp.mjs'

const sources = fileURLToPath(new URL('.', import.meta.url))
const name = 'children'
const scriptNames = ['follower', 'story', 'writer'] as const
export type ScriptName = (typeof scriptNames)[number]
const outFolder = join(cacheFolder, name)

/**
 * The script of a child, in one file with the built packages: a child that has nothing to look up or to translate
 * starts in a third of the time, and there are many of them.
 */
export function bundled(script: ScriptName): string {
  const input = fingerprint([sources, ...listPackages().map(({ path }) => join(path, 'lib'))])
  if (!isStamped(name, input)) {
    withLock(join(cacheFolder, `${name}.lock`), () => {
      if (!isStamped(name, input)) stamped(name, input, bundle)
    })
  }
  return join(outFolder, `${script}.js`)
}

function bundle(): void {
  const scripts = scriptNames.map((each) => join(sources, `${each}.ts`))
  const how = ['--format', 'esm', '--target', 'node20', '--no-splitting', '--no-config', '--silent']
  mustRun(process.execPath, [toolPath('tsup'), ...scripts, ...how, '--out-dir', outFolder])
}
