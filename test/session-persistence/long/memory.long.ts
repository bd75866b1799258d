import { execFile } from 'node:child_process'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { folderOf } from '../files.ts'
import { countFrom, tellFigures } from './figures.ts'
import { longScratch } from './long-scratch.ts'

const run = promisify(execFile)
const script = fileURLToPath(new URL('../scale/large-host.mjs', import.meta.url))
const events = countFrom('TIDEMARK_LONG_EVENTS', 1_000_000)

const root = longScratch()
afterAll(() => rmSync(root, { recursive: true, force: true }))

interface Measured {
  readonly length?: number
  /** The most memory that was ever resident in the process, buffers included. */
  readonly peakMib: number
}

async function host(task: string): Promise<Measured> {
  const args = [script, task, root, JSON.stringify({ events, isMeasured: true })]
  return JSON.parse((await run(process.execPath, args)).stdout) as Measured
}

it('J03: a million events are written and resumed in bounded memory, with a snapshot and without one', async () => {
  const written = await host('stream')
  const length = written.length ?? 0
  expect(length).toBeGreaterThanOrEqual(events)
  const idle = await host('nothing')
  const fresh = await host('resume')
  expect(fresh.length).toBe(length + 1) // the boundary; then something is said
  for (const name of readdirSync(folderOf(root, 'large')))
    if (name.startsWith('snapshot-')) rmSync(join(folderOf(root, 'large'), name))
  const cold = await host('resume')
  expect(cold.length).toBe(length + 3)
  const above = ({ peakMib }: Measured): number => Math.round(peakMib - idle.peakMib)
  const figures = { events: length, writing: above(written), fresh: above(fresh), cold: above(cold) }
  tellFigures('MiB above an empty host', figures)
  expect(above(fresh)).toBeLessThan(40)
  expect(above(cold)).toBeLessThan(200)
  expect(above(written)).toBeLessThan(200)
})
