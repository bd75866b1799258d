import { spawn, spawnSync } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readJson, root } from './packages.mjs'

const forwarded = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** A command that we started did not end well; what it had to say is on the terminal already. */
export class CommandFailed extends Error {}

/** Runs a command to its end on our own terminal; anything but success is a `CommandFailed`. */
export function mustRun(command, args, { cwd = root } = {}) {
  const onWindows = process.platform === 'win32' // npx is a script there, which only a shell starts
  const { status, signal, error } = spawnSync(command, args, { cwd, stdio: 'inherit', shell: onWindows })
  if (error) throw error
  if (status !== 0) throw new CommandFailed(`${command} ${args.join(' ')} ended with ${signal ?? status}`)
}

/** Runs Node on our own terminal, passes signals on, and resolves with the exit code. */
export function runNode(args, env = process.env) {
  const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit', env })
  for (const signal of forwarded) process.on(signal, () => child.kill(signal))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code, signal) => resolve(code ?? (signal === 'SIGINT' ? 130 : 1)))
  })
}

/** Runs Node and resolves with what it printed and whether it ended well. */
export function captureNode(args, { cwd = root } = {}) {
  const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  child.stderr.on('data', (chunk) => (output += chunk))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ ok: code === 0, output }))
  })
}

/** The script behind an installed tool's command, so that it runs without npx and without a shell. */
export function toolPath(packageName, command = packageName) {
  const folder = join(root, 'node_modules', packageName)
  const { bin } = readJson(join(folder, 'package.json'))
  return join(folder, typeof bin === 'string' ? bin : bin[command])
}

/** True for the module that Node was started with. */
export const isMain = (url) => fileURLToPath(url) === realpathSync(process.argv[1])
