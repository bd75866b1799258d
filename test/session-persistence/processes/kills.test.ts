import { basename } from 'node:path'
import { describe, expect, it } from 'vitest'
import { scratch } from '../scratch.ts'
import { nothingWrong } from './examine.ts'
import { cutShortAt, inLanes, killAt, probe, whyNoLimits } from './kills.ts'
import { childTestMs } from './nursery.ts'
import { skipAloud } from './skip.ts'
import { calls, pointsAbout, spreadPoints, whyNoTrace } from './trace.ts'

const killsMax = 24

/** In one life there are several snapshots and several segments. */
const limits = { snapshotEvents: 4, segmentSizeBytesMax: 1_500 }

/** What is written of snapshots, of segments after the first of an epoch, and of those that are packed. */
const changing = {
  snapshots: /^snapshot-/,
  rotations: /^\d{6}-(?!000)\d{3}\.jsonl$/,
  packs: /^c-/,
}
const killsOfEachMax = 6

/** In the first header, in the first batches of a life, and in those after it was resumed. */
const sizesBytesMax = [300, 700, 1_000, 1_300, 1_600, 2_000]

describe('a writer that is killed at an exact system call', { timeout: childTestMs }, () => {
  it('K07: loses nothing that it acknowledged, and every session goes on', async (context) => {
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

  it.for(Object.entries(changing))(
    'K12: loses nothing that it appended beside %s',
    async ([, name], context) => {
      const reason = await whyNoTrace()
      if (reason !== undefined) skipAloud(context, reason)
      const points = pointsAbout(await probe(scratch(), 2, limits), name, killsOfEachMax)
      expect(points.length).toBe(killsOfEachMax)
      const killed = await inLanes(points, (point) => killAt(scratch(), point, limits))
      for (const { point, isHit, findings } of killed) {
        expect({ point, isHit, ...findings }).toMatchObject({ point, isHit: true, ...nothingWrong })
      }
      const met = killed.filter(({ names }) => names.some((each) => name.test(basename(each))))
      expect(met.length).toBeGreaterThan(0)
      expect(killed.filter(({ findings }) => findings.acknowledged > 0).length).toBe(killed.length)
    },
  )
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
