import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

const waitMsMax = 600_000
const pauseMs = 200

/** Runs `job` while no other process of this clone does; takes over from one that died. */
export function withLock(path, job) {
  mkdirSync(dirname(path), { recursive: true })
  const giveUpAt = Date.now() + waitMsMax
  while (!take(path)) {
    if (Date.now() > giveUpAt) throw new Error(`another set-up still holds ${path}`)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs)
  }
  try {
    return job()
  } finally {
    rmSync(path, { force: true })
  }
}

function take(path) {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    if (!isAlive(holderOf(path))) rmSync(path, { force: true })
    return false
  }
}

function holderOf(path) {
  try {
    return Number(readFileSync(path, 'utf8'))
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    return 0 // released between two looks
  }
}

function isAlive(pid) {
  if (pid === 0) return false
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error.code === 'EPERM'
  }
}
