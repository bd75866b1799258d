import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './packages.mjs'

export const cacheFolder = join(root, 'node_modules', '.cache', 'tidemark')

const pathOf = (name) => join(cacheFolder, `${name.replaceAll('/', '+')}.stamp`)

/** True when the job of this name last ended well, on this very input. */
export function isStamped(name, input) {
  return existsSync(pathOf(name)) && readFileSync(pathOf(name), 'utf8') === input
}

/** Runs a job and stamps it; a job that fails or is cut short leaves no stamp. */
export function stamped(name, input, job) {
  rmSync(pathOf(name), { force: true })
  job()
  mkdirSync(cacheFolder, { recursive: true })
  writeFileSync(pathOf(name), input)
}
