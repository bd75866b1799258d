import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { InstanceProcess } from './instance-process.ts'

const labels = Array.from({ length: 64 }, (_, rank) => `l${String(rank).padStart(2, '0')}`)
const testMs = 300_000

let base: string
const all: InstanceProcess[] = []

// Memory, where there is such a file system: these races are about order, and a disk would take a minute for them.
const fast = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

beforeEach(() => {
  base = mkdtempSync(join(fast, 'tidemark-'))
})
afterEach(async () => {
  await Promise.all(all.splice(0).map((each) => each.kill()))
  rmSync(base, { recursive: true, force: true })
})

async function instance(): Promise<InstanceProcess> {
  const started = new InstanceProcess(base, labels)
  all.push(started)
  return started.ready()
}

describe('real processes', () => {
  it(
    'in 1,000 rounds of raising and lowering at once the maximum survives',
    { timeout: testMs },
    async () => {
      const [one, two, judge] = await Promise.all([instance(), instance(), instance()])
      let rounds = 0
      for (let scope = 0; scope < 16; scope++) {
        const name = `scope ${scope}`
        await one.tell({ open: { mode: 'begin', scope: name } })
        await two.tell({ open: { mode: 'resume', scope: name } })
        for (let rank = 1; rank < labels.length; rank++) {
          const high = { raise: labels[rank]! }
          const low = { raise: labels[Math.max(0, rank - 1 - (rank % 5))]! }
          const answers = await Promise.all(
            rank % 2 ? [one.tell(high), two.tell(low)] : [one.tell(low), two.tell(high)],
          )
          for (const { refused } of answers) expect(refused).toBeUndefined()
          rounds += 1
          if (rank % 9 > 0) continue
          const seen = await Promise.all([one.tell({ update: true }), two.tell({ update: true })])
          expect(seen.map(({ sensitivity }) => sensitivity)).toEqual([labels[rank], labels[rank]])
        }
        await Promise.all([one.tell({ close: true }), two.tell({ close: true })])
        const after = await judge.tell({ open: { mode: 'resume', scope: name } })
        expect(after.sensitivity).toBe(labels.at(-1))
        await judge.tell({ close: true })
      }
      expect(rounds).toBe(1_008)
    },
  )

  it('a killed instance is an orphan, and its label holds', { timeout: testMs }, async () => {
    const [killed, next] = await Promise.all([instance(), instance()])
    const lost = await killed.tell({ open: { mode: 'begin', scope: 's' } })
    await killed.tell({ raise: 'l40' })
    const living = await next.tell({ open: { mode: 'resume', scope: 's' }, orphans: true })
    expect(living).toMatchObject({ sensitivity: 'l40', orphans: [] })
    expect(await next.tell({ acknowledge: lost.incarnation! })).toMatchObject({ refused: 'living' })
    await killed.kill()
    expect((await next.tell({ orphans: true })).orphans).toEqual([lost.incarnation])
    await next.tell({ acknowledge: lost.incarnation! })
    expect((await next.tell({ orphans: true })).orphans).toEqual([])
    expect(await next.end()).toBe(0)
  })

  it('a stopped instance is a living one', { timeout: testMs }, async () => {
    const [stopped, next] = await Promise.all([instance(), instance()])
    const { incarnation } = await stopped.tell({ open: { mode: 'begin', scope: 's' } })
    await stopped.stop()
    expect(await next.tell({ open: { mode: 'resume', scope: 's' }, orphans: true })).toMatchObject({
      orphans: [],
    })
    expect(await next.tell({ acknowledge: incarnation! })).toMatchObject({ refused: 'living' })
  })

  it(
    'a host that ends cleanly leaves no orphan, though it closed no handle',
    { timeout: testMs },
    async () => {
      const [ended, next] = await Promise.all([instance(), instance()])
      await ended.tell({ open: { mode: 'begin', scope: 's' } })
      expect(await ended.end()).toBe(0)
      expect(await next.tell({ open: { mode: 'resume', scope: 's' }, orphans: true })).toMatchObject({
        orphans: [],
      })
    },
  )

  it(
    'killed in the middle of raises, 5 times, no acknowledged label is lost',
    { timeout: testMs },
    async () => {
      const first = await instance()
      await first.tell({ open: { mode: 'begin', scope: 's' }, close: true })
      await first.end()
      let acknowledged = 0
      for (let round = 0; round < 5; round++) {
        const raiser = await instance()
        const opened = await raiser.tell({ open: { mode: 'resume', scope: 's' } })
        expect(labels.indexOf(opened.sensitivity!)).toBeGreaterThanOrEqual(acknowledged)
        acknowledged = labels.indexOf(opened.sensitivity!) + 1
        const answer = raiser.tell({ raise: labels[acknowledged]! })
        raiser.order({ raise: labels[acknowledged + 1]! })
        await answer
        await raiser.kill()
      }
      const last = await instance()
      const seen = await last.tell({ open: { mode: 'resume', scope: 's' }, orphans: true })
      expect(labels.indexOf(seen.sensitivity!)).toBeGreaterThanOrEqual(acknowledged)
      expect(seen.orphans).toHaveLength(5)
    },
  )

  it(
    'of a resume and a reset at once each ends well, and what is of the old generation is fenced',
    { timeout: testMs },
    async () => {
      const [one, two] = await Promise.all([instance(), instance()])
      await one.tell({ open: { mode: 'begin', scope: 's' } })
      for (let round = 1; round <= 12; round++) {
        const [reset, resumed] = await Promise.all([
          one.tell({ reset: `round ${round}` }),
          two.tell({ open: { mode: 'resume', scope: 's' } }),
        ])
        expect(reset.generation).toBe(round + 1)
        const used = await two.tell({ audit: 'use' })
        // Signed in before the reset, or opened before it: dead. Otherwise it is of the new generation.
        if (resumed.refused !== undefined) expect(resumed.refused).toBe('stale-credential')
        else if (resumed.generation === round) expect(used.refused).toBe('stale-generation')
        else expect([resumed.generation, used.refused]).toEqual([round + 1, undefined])
      }
    },
  )
})
