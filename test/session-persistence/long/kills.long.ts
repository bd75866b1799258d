import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { Child } from '../processes/child.ts'
import {
  addFindings,
  countsOf,
  examine,
  noFindings,
  nothingWrong,
  type Findings,
} from '../processes/examine.ts'
import { cutShortAt, inLanes, killAt, probe, whyNoLimits } from '../processes/kills.ts'
import { told } from '../processes/line.ts'
import { moment } from '../processes/moment.ts'
import { Random } from '../processes/random.ts'
import { skipAloud } from '../processes/skip.ts'
import { spreadPoints, whyNoTrace } from '../processes/trace.ts'
import { countFrom, tellFigures } from './figures.ts'
import { longScratch } from './long-scratch.ts'

const kills = countFrom('TIDEMARK_LONG_KILLS', 1_000)
const killsExact = Math.floor(kills / 2)
const shortWrites = Math.max(10, Math.ceil(kills / 10))

const folder = longScratch()
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Does the work for each, in a folder of its own, and adds up what it finds. */
async function sumOf<T>(items: readonly T[], work: (item: T, place: string) => Promise<Findings>) {
  const sum = noFindings()
  await inLanes(items, async (item) => {
    const place = mkdtempSync(join(folder, 'kill-'))
    addFindings(sum, await work(item, place))
    rmSync(place, { recursive: true, force: true })
  })
  return sum
}

describe('a writer', () => {
  it('that is killed at random loses nothing that it acknowledged, and every session goes on', async () => {
    const seeds = Array.from({ length: kills - killsExact }, (_, index) => index + 1)
    const sum = await sumOf(seeds, async (seed, place) => {
      const root = join(place, 'root')
      const child = new Child('story', { root, name: 'story', seed, largeIn: 5 })
      await child.ready()
      child.go()
      await moment(child, root, new Random(seed))
      await child.kill()
      expect(told(child.lines, 'refused')).toEqual([])
      return examine(root, child.lines)
    })
    tellFigures('kills at random', { runs: seeds.length, ...countsOf(sum) })
    expect(sum).toMatchObject(nothingWrong)
  })

  it('that is killed at an exact system call does the same', async (context) => {
    const reason = await whyNoTrace()
    if (reason !== undefined) skipAloud(context, reason)
    const points = spreadPoints(await probe(folder, 3), killsExact)
    const sum = await sumOf(points, async (point, place) => {
      const { isHit, findings } = await killAt(place, point)
      expect({ point, isHit }).toEqual({ point, isHit: true })
      return findings
    })
    tellFigures('kills at an exact system call', { runs: points.length, ...countsOf(sum) })
    expect(points.length).toBe(killsExact)
    expect(sum).toMatchObject(nothingWrong)
  })

  it('whose batch the system takes only in part does the same', async (context) => {
    const reason = whyNoLimits()
    if (reason !== undefined) skipAloud(context, reason)
    const random = new Random(1)
    const limits = Array.from({ length: shortWrites }, () => 600 + random.below(1_200)) // a file of a story without a seed is longer
    const sum = await sumOf(limits, async (limit, place) => {
      const { codes, findings } = await cutShortAt(place, limit)
      expect(codes).toEqual(['STORAGE_FAILED'])
      return findings
    })
    tellFigures('batches written in part', { runs: limits.length, ...countsOf(sum) })
    expect(sum).toMatchObject(nothingWrong)
    expect(sum.recovered).toBeGreaterThan(0)
  })
})
