import { readFileSync, writeFileSync } from 'node:fs'

const mebibyte = 1_048_576
const isLinux = process.platform === 'linux'

/** User and system time of all threads of this process so far. */
export function cpuMicros() {
  const { user, system } = process.cpuUsage()
  return user + system
}

export const residentMib = () => process.memoryUsage.rss() / mebibyte

/** The most memory that was resident since the start, or since `resetPeak`. */
export function peakMib() {
  if (!isLinux) return process.resourceUsage().maxRSS / 1_024
  return Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1_024
}

/** Lets the peak begin anew, where the system can: loading packages has a peak of its own. */
export function resetPeak() {
  globalThis.gc?.()
  if (isLinux) writeFileSync('/proc/self/clear_refs', '5')
}

/** Bytes that this process has handed to write calls; undefined where the system does not count them. */
export function writtenBytes() {
  if (!isLinux) return undefined
  return Number(/^wchar: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))[1])
}

/** Seconds of processor time that the whole machine has used so far. */
export function machineCpuSeconds() {
  if (!isLinux) return undefined
  const [user, nice, system, , , irq, softirq, steal] = readFileSync('/proc/stat', 'utf8')
    .split('\n', 1)[0]
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number)
  return (user + nice + system + irq + softirq + steal) / 100
}
