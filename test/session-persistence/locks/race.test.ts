import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { upTo } from '../batches.ts'
import { LockProcess, killAll } from './lock-process.ts'

const isLinux = process.platform === 'linux'
const racers: LockProcess[] = []
let path: string

beforeAll(async () => {
  path = mkdtempSync(join(tmpdir(), 'tidemark-'))
  if (isLinux) racers.push(...upTo(8).map(() => new LockProcess(path, path)))
  await Promise.all(racers.map((racer) => racer.tell({})))
}, 120_000)
beforeEach((context) => {
  if (!isLinux) context.skip('only Linux has names that its kernel frees')
})
afterAll(async () => {
  await killAll()
  rmSync(path, { recursive: true })
})

describe('processes that race for one lock', () => {
  it('40 times, of 8 at once one holds it, and the others are told who', async () => {
    for (const trial of upTo(40)) {
      const answers = await Promise.all(racers.map((racer) => racer.take(`session ${trial % 3}`)))
      const winners = racers.filter((_, index) => answers[index]!.refused === undefined)
      expect(winners.length).toBe(1)
      for (const { refused, holder } of answers) {
        // On a machine that has no time to greet, a refusal names nobody.
        if (refused !== undefined) expect([undefined, winners[0]!.pid]).toContain(holder?.pid)
      }
      await winners[0]!.tell({ release: true })
    }
  }, 120_000)

  it('taking and releasing without a pause, of 8 no two ever hold it at a time', async () => {
    const churn = { id: 'a', attempts: 40 }
    // Whoever finds that another holds it too ends with an error.
    const held = await Promise.all(racers.map(async (racer) => (await racer.tell({ churn })).held!))
    expect(held.reduce((sum, count) => sum + count)).toBeGreaterThan(racers.length)
  }, 120_000)
})
