import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { mustRun, toolPath } from '../scripts/command.mjs'
import { fingerprint } from '../scripts/fingerprint.mjs'
import { withLock } from '../scripts/lock.mjs'
import { listPackages } from '../scripts/packages.mjs'
import { cacheFolder, isStamped, stamped } from '../scripts/stamp.mjs'

const scripts = {
  cluster: 'session-persistence/locks/cluster.ts',
  follower: 'session-persistence/processes/follower.ts',
  holder: 'session-persistence/locks/holder.ts',
  instance: 'session-continuity/processes/instance.ts',
  raiser: 'session-continuity/processes/raiser.ts',
  story: 'session-persistence/processes/story.ts',
  writer: 'session-persistence/processes/writer.ts',
} as const

const sources = Object.entries(scripts).map(([script, path]) => ({
  script,
  path: fileURLToPath(new URL(path, import.meta.url)),
}))
const name = 'children'
const outFolder = join(cacheFolder, name)

/**
 * The script of a child, in one file with the built packages: a child that has nothing to look up or to translate
 * starts in a third of the time, and there are many of them.
 */
export function bundled(script: keyof typeof scripts): string {
  const packages = listPackages().flatMap(({ path }) => [join(path, 'lib'), join(path, 'src')])
  const input = fingerprint([...sources.map(({ path }) => dirname(path)), ...packages])
  if (!isStamped(name, input)) {
    withLock(join(cacheFolder, `${name}.lock`), () => {
      if (!isStamped(name, input)) stamped(name, input, bundle)
    })
  }
  return join(outFolder, `${script}.js`)
}

function bundle(): void {
  const entries = sources.flatMap(({ script, path }) => [`--entry.${script}`, path])
  const how = ['--format', 'esm', '--target', 'node20', '--no-splitting', '--no-config', '--silent']
  mustRun(process.execPath, [toolPath('tsup'), ...entries, ...how, '--out-dir', outFolder])
}
