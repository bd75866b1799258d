import { spawnSync } from 'node:child_process'

/**
 * Installs Debian packages whose commands are missing: `{ command: package }`. Only root can, and only where apt is;
 * elsewhere it says so, and whoever needs a command goes without.
 */
export function installMissing(packageOf) {
  const missing = Object.entries(packageOf).filter(([command]) => spawnSync(command, ['-V']).error)
  if (missing.length === 0) return
  const packages = missing.map(([, name]) => name)
  if (process.getuid?.() === 0 && apt('update') && apt('install', '--no-install-recommends', ...packages))
    return
  console.log(`${packages.join(' and ')} could not be installed: the tests that need them say that they skip`)
}

function apt(...words) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  return (
    spawnSync('apt-get', ['-qq', '-y', ...words], { stdio: ['ignore', 'inherit', 'inherit'], env }).status ===
    0
  )
}
