import { readdirSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { folderOf, readStored } from '../files.ts'
import { startJournal } from '../host.ts'
import { Child } from './child.ts'
import { textOf, told, type Followed, type Line } from './line.ts'
import { childTestMs, hasAcknowledged, Nursery } from './nursery.ts'

let nursery: Nursery

beforeEach(async () => {
  nursery = new Nursery()
  await nursery.prepare()
})
afterEach(() => nursery.killAll())

/** What the follower has now: in the order in which it was given, without what it was told to drop. */
function heldIn(lines: readonly Line[]): Followed[] {
  const held: Followed[] = []
  for (const line of lines) {
    if (line.told === 'followed') held.push(...line.events)
    if (line.told === 'dropped') while ((held.at(-1)?.seq ?? -1) > line.after) held.pop()
  }
  return held
}

const limits = { segmentSizeBytesMax: 4_096, snapshotEvents: 20 }

describe('a follower in a process of its own', { timeout: childTestMs }, () => {
  it('G38: has every durable event once and in order, over segments, kills, and who takes over by force', async () => {
    const follower = new Child('follower', { root: nursery.root, id: 'a' })
    nursery.children.push(follower)
    await follower.ready()
    follower.go()

    const killed = await nursery.spawn('killed', { limits })
    killed.go()
    await killed.until(hasAcknowledged(40))
    await killed.kill()
    const fenced = await nursery.spawn('fenced', { limits })
    fenced.go()
    await fenced.until(hasAcknowledged(20))
    const taker = await nursery.spawn('taker', { limits, isForced: true })
    taker.go()
    await taker.until(hasAcknowledged(20))
    await fenced.gone() // it was told, and ended
    await taker.kill()
    expect(told(fenced.lines, 'refused')).not.toEqual([])

    // Another life makes what the last one left durable for whoever reads, and ends.
    const last = await startJournal(nursery.root)
    const resumed = await last.sessionPersistence.resume('a')
    resumed.append('turn/start', {})
    await resumed.flush()
    const lastSeq = resumed.log.length - 1
    await follower.until((lines) => (heldIn(lines).at(-1)?.seq ?? -1) >= lastSeq)
    await last.sessions.dispose(resumed)

    const stored = (await readStored(nursery.root, 'a')).flatMap(({ events }) => events)
    const held = heldIn(follower.lines)
    expect(held.map(({ seq, type }) => ({ seq, type }))).toEqual(
      stored.map(({ seq, type }) => ({ seq, type })),
    )
    const texts = new Map(held.map(({ seq, text }) => [seq, text]))
    const acknowledged = [killed, fenced, taker].flatMap(({ lines }) => told(lines, 'acknowledged'))
    const durable = acknowledged.flatMap(({ events }) => events)
    for (const each of durable) expect(texts.get(each.seq)).toBe(textOf(each))
    expect(told(follower.lines, 'refused').filter(({ code }) => code !== 'TAIL_MOVED')).toEqual([])
    // The log went on in other segments, and some of them were packed meanwhile.
    expect(readdirSync(folderOf(nursery.root, 'a')).some((name) => name.startsWith('c-'))).toBe(true)
  })
})
