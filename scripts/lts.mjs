import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { mustRun } from './command.mjs'
import { cacheFolder } from './stamp.mjs'

/** The newest Node line with long-term support, which the tests run on besides the one at hand. */
export const ltsVersion = '24.22.3'

const folder = join(cacheFolder, `node-${ltsVersion}`)
const platform = `node-${process.platform}-${process.arch}`
const path = join(folder, 'node_modules', platform, 'bin', 'node')

/** The path of that Node, if it is installed. */
export function findLtsNode() {
  return answers(path) ? path : undefined
}

/** The path of that Node, installed beside the packages when it is not there yet. */
export function ltsNode() {
  if (!answers(path)) {
    mkdirSync(folder, { recursive: true })
    const quietly = ['--no-save', '--no-audit', '--no-fund', '--no-package-lock']
    mustRun('npm', ['install', '--prefix', folder, ...quietly, `${platform}@${ltsVersion}`])
  }
  return path
}

function answers(node) {
  return existsSync(node) && String(spawnSync(node, ['--version']).stdout).trim() === `v${ltsVersion}`
}
