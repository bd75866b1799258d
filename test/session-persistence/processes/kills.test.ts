import { describe, expect, it } from 'vitest'
import { scratch } from '../scratch.ts'
import { nothingWrong } from './examine.ts'
import { cutShortAt, inLanes, killAt, probe, whyNoLimits } from './kills.ts'
import { childTestMs } from './nursery.ts'
import { skipAloud } from './skip.ts'
import { calls, spreadPoints, whyNoTrace } from './trace.ts'

const killsMax = 40

/** In the first header, in the first batches of a life, and in those after it was resumed. */
const sizesBytesMax = [300, 700, 1_000, 1_300, 1_600, 2_000]

describe('a writer that is killed at an exact system call', { timeout: childTestMs }, () => {
  it('K07, K12: loses nothing that it acknowledged, and every session goes on', async (context) => {
    const reason = await whyNoTrace()
    if (reason !== undefined) skipAloud(context, reason)
    const points = spreadPoints(await probe(scratch(), 1), killsMax)
    expect(new Set(points.map(({ call }) => call))).toEqual(new Set(calls))
    const killed = await inLanes(points, (point) => killAt(scratch(), point))
    expect(killed.length).toBe(killsMax)
    for (const { point, isHit, findings } of killed) {
      expect({ point, isHit, ...findings }).toMatchObject({ point, isHit: true, ...nothingWrong })
    }
    // Kills so early that nothing was acknowledged yet are part of the story, but not most of it.
    const told = killed.filter(({ findings }) => findings.acknowledged > 0)
    expect(told.length).toBeGreaterThan(killsMax / 2)
  })
})

describe('a batch that the system takes only in part', { timeout: childTestMs }, () => {
  it('K01: is not acknowledged, is set aside, and the session goes on without it', async (context) => {
    const reason = whyNoLimits()
    if (reason !== undefined) skipAloud(context, reason)
    const cut = await inLanes(sizesBytesMax, (size) => cutShortAt(scratch(), size))
    for (const { codes, findings } of cut) {
      expect({ codes, ...findings }).toMatchObject({ codes: ['STORAGE_FAILED'], ...nothingWrong })
    }
    expect(cut.some(({ findings }) => findings.recovered > 0)).toBe(true)
  })
})
