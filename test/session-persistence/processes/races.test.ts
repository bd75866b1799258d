import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { upTo } from '../batches.ts'
import { storedSeqs } from '../files.ts'
import { examine, nothingWrong } from './examine.ts'
import { told } from './line.ts'
import { childTestMs, hasAcknowledged, Nursery } from './nursery.ts'
import { Random } from './random.ts'

const writersAtOnce = 8
const kills = 6
const terms = { isForced: true, roundLength: 4, pauseMsMax: 1_000 }

let nursery: Nursery

beforeEach(async () => {
  nursery = new Nursery()
  await nursery.prepare()
})
afterEach(() => nursery.killAll())

describe('writers that keep taking over from each other', { timeout: childTestMs }, () => {
  it('B01, B07: eight of them, killed at random, lose nothing and acknowledge no seq twice', async () => {
    const names = upTo(writersAtOnce + kills).map((n) => `writer ${n}`)
    const waiting = await Promise.all(names.map((name) => nursery.spawn(name, terms)))
    const random = new Random(20_260_101)
    const living = waiting.splice(0, writersAtOnce)
    for (const child of living) child.go()
    for (const next of waiting) {
      const [victim] = living.splice(random.below(writersAtOnce), 1)
      const linesMin = victim!.lines.length + 1 + random.below(8)
      await victim!.until(({ length }) => length >= linesMin)
      await victim!.kill()
      living.push(next)
      next.go()
    }
    await Promise.all(living.map((child) => child.until(hasAcknowledged(1))))
    await nursery.killAll()

    const { lines, root } = nursery
    const codes = told(lines, 'refused').map(({ code }) => code)
    expect(codes.filter((code) => code !== 'FENCED' && code !== 'LOCKED')).toEqual([])
    const seqs = told(lines, 'acknowledged').flatMap(({ events }) => events.map(({ seq }) => seq))
    expect(new Set(seqs).size).toBe(seqs.length)
    expect(await examine(root, lines)).toMatchObject(nothingWrong)
    const stored = await storedSeqs(root, 'a')
    expect(stored).toEqual(upTo(stored.length))
  })
})
