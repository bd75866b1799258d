import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { upTo } from '../batches.ts'
import { readStored } from '../files.ts'
import { examine, nothingWrong } from './examine.ts'
import { childTestMs, hasAcknowledged, Nursery } from './nursery.ts'

let nursery: Nursery

beforeEach(async () => {
  nursery = new Nursery()
  await nursery.prepare()
})
afterEach(() => nursery.killAll())

describe('a writer in a process of its own', { timeout: childTestMs }, () => {
  it('K07, K09: killed at any moment, it leaves all that was acknowledged, and the next one need not wait', async () => {
    for (const round of upTo(3)) {
      const child = await nursery.spawn(`round ${round}`)
      child.go()
      await child.until(hasAcknowledged(5 + round * 7))
      await child.kill()
    }
    const findings = await examine(nursery.root, nursery.lines)
    expect(findings).toMatchObject(nothingWrong)
    expect(findings.acknowledged).toBeGreaterThanOrEqual(5 + 12 + 19)
    const pids = (await readStored(nursery.root, 'a')).map(({ writer }) => writer.pid)
    expect(new Set(pids)).toEqual(new Set([process.pid, ...nursery.children.map(({ pid }) => pid)]))
  })
})
