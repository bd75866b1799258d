import { readFileSync } from 'node:fs'
import { arch, cpus, release, totalmem, type } from 'node:os'
import { spawnSync } from 'node:child_process'
import { describeSystem, nodeFor, systems } from './systems.mjs'

const gibibyte = 2 ** 30

/** What the figures were measured on, in one sentence. */
export function describeMachine(folder) {
  const [first, ...rest] = cpus()
  const memory = `${Math.round(totalmem() / gibibyte)} GiB of memory`
  const system = `${type()} ${release()} on ${arch()}`
  return `${rest.length + 1} processors (${first.model.trim()}), ${memory}, ${system}, logs on ${fileSystemOf(folder)}`
}

/** Name and version of everything that was measured, and what to know of it. */
export async function describeSystems(names) {
  const lines = []
  for (const adapter of new Set(names.map((name) => systems[name].adapter))) {
    const name = names.find((each) => systems[each].adapter === adapter)
    const { versions, notes } = await describeSystem(name)
    const packages = Object.entries(versions).map(([each, version]) => `\`${each}\` ${version}`)
    const about = [...(packages.length > 0 ? [packages.join(', ')] : []), ...notes]
    lines.push(`- **${systems[name].label.replace(/, Node 24$/, '')}**: ${about.join('; ')}`)
  }
  return lines.join('\n')
}

export function nodeVersions(names) {
  const nodes = new Set(names.map(nodeFor).filter((node) => node !== undefined))
  return [...nodes].map((node) => String(spawnSync(node, ['--version']).stdout).trim()).join(' and ')
}

function fileSystemOf(folder) {
  if (process.platform !== 'linux') return 'an unknown file system'
  const mounts = readFileSync('/proc/self/mounts', 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, point]) => folder === point || folder.startsWith(point.endsWith('/') ? point : `${point}/`))
    .sort(([, a], [, b]) => b.length - a.length)
  return mounts[0]?.[2] ?? 'an unknown file system'
}
