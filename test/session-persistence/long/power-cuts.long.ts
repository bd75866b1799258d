import { rmSync } from 'node:fs'
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
import { moment } from '../processes/moment.ts'
import { Random } from '../processes/random.ts'
import { skipAloud } from '../processes/skip.ts'
import { countFrom, tellFigures } from './figures.ts'
import { longScratch } from './long-scratch.ts'
import { cutKinds, LoopDisk, whyNoCuts, type DiskKind } from './loop-disk.ts'

const cuts = countFrom('TIDEMARK_LONG_CUTS', 100)
/** As many as it takes for a writer without syncs to be caught for sure. */
const cutsUnsynced = 20
const kinds = ['ext4', 'xfs'] as const

const folder = longScratch()
const reason = await whyNoCuts(folder)
const disks: LoopDisk[] = []

afterAll(async () => {
  for (const disk of disks) await disk.dispose()
  rmSync(folder, { recursive: true, force: true })
})

interface CutTerms {
  readonly seed: number
  readonly isUnsynced: boolean
}

/** A writer in the middle of its story when the power goes, and what is there when it comes back. */
async function cutPower(disk: LoopDisk, { seed, isUnsynced }: CutTerms): Promise<Findings> {
  const random = new Random(seed)
  const root = join(disk.path, `root-${seed}`)
  const durability = random.chance(0.3) ? 'strict' : 'lazy'
  const child = new Child('story', { root, name: 'story', seed, durability, isUnsynced, largeIn: 5 })
  try {
    await child.ready()
    disk.arm()
    child.go()
    await moment(child, root, random)
    await disk.cut(cutKinds[random.below(cutKinds.length)]!)
  } finally {
    await child.kill()
  }
  disk.unmount()
  disk.mount()
  const findings = await examine(root, child.lines)
  rmSync(root, { recursive: true, force: true })
  return findings
}

async function cutOften(kind: DiskKind, { count, isUnsynced }: { count: number; isUnsynced: boolean }) {
  const disk = await LoopDisk.create(join(folder, `${kind}-${isUnsynced}`), kind)
  disks.push(disk)
  const sum = noFindings()
  for (let seed = 1; seed <= count; seed++) addFindings(sum, await cutPower(disk, { seed, isUnsynced }))
  await disk.dispose()
  return sum
}

describe.for(kinds)('a power cut on %s', (kind) => {
  it('loses nothing that was acknowledged, and every session goes on', async (context) => {
    if (reason !== undefined) skipAloud(context, reason)
    const found = await cutOften(kind, { count: cuts, isUnsynced: false })
    tellFigures(`power cuts on ${kind}`, { runs: cuts, ...countsOf(found) })
    expect(found).toMatchObject(nothingWrong)
    expect(found.acknowledged).toBeGreaterThan(cuts)
  })

  it('is a real one: a writer that acknowledges before it syncs loses events', async (context) => {
    if (reason !== undefined) skipAloud(context, reason)
    const found = await cutOften(kind, { count: cutsUnsynced, isUnsynced: true })
    tellFigures(`power cuts on ${kind}, without syncs`, { runs: cutsUnsynced, ...countsOf(found) })
    expect(found.lost.length).toBeGreaterThan(0)
  })
})
