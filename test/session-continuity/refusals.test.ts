import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  firstFilesMax,
  lastFilesMax,
  refusalFileSizeBytesMax,
} from '../../packages/session-continuity/src/file/refusal-file.ts'
import { FairShares, RefusalRate, Refusals } from './source.ts'
import { World, begin, granted, linesOf, reasonFor, resume, scope } from './world.ts'

interface Line {
  readonly suppressed: number
  readonly reason: string
  readonly operation: string
  readonly principal?: string
}

function keptIn(world: World): Line[] {
  const folder = join(world.root, 'continuity', 'refusals')
  return readdirSync(folder)
    .sort()
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').trim().split('\n'))
    .map((line) => JSON.parse(line) as Line)
}

describe('refused attempts', () => {
  it('a flood is counted to the last, written at a bounded rate, and blocks nobody else', async () => {
    const world = new World()
    const process = world.start({
      grants: granted({ 'test:alice': [scope] }),
      config: { refusedBurstMax: 20 },
    })
    const handle = await begin(process)
    const before = linesOf(world, 1)
    const flood = Promise.all(Array.from({ length: 2_000 }, () => reasonFor(() => resume(process, 'bob'))))
    await handle.raise('internal')
    await handle.audit({ action: 'work goes on' })
    expect(new Set(await flood)).toEqual(new Set(['no-grant']))
    expect(process.continuity.refusedCount).toBe(2_000)
    await process.continuity.close()
    const kept = keptIn(world)
    // One principal gets half. The last line is for what was only counted.
    expect(kept).toHaveLength(11)
    expect(kept.reduce((sum, { suppressed }) => sum + suppressed, 0) + 10).toBe(2_000)
    // Evidence is elsewhere, and is as it was.
    expect(linesOf(world, 1).slice(0, before.length)).toEqual(before)
  })

  it('as time passes one more line is written; a clock that steps back gives none', async () => {
    let time = 0
    const lines: unknown[] = []
    const sink = { write: async (refused: readonly unknown[]) => void lines.push(...refused) }
    const refusals = new Refusals({
      sink,
      now: () => time,
      report: () => undefined,
      burstMax: 4,
      lineMs: 1_000,
    })
    const attempt = { operation: 'resume', reason: 'no-grant' } as const
    const allowed = async (): Promise<boolean> => {
      const { length } = lines
      refusals.record(attempt)
      await new Promise((resolve) => setImmediate(resolve))
      return lines.length > length
    }
    expect([await allowed(), await allowed(), await allowed()]).toEqual([true, true, false])
    // Nobody gets more than is left for others.
    time = -1e12
    expect(await allowed()).toBe(false)
    time = Number.NaN
    expect(await allowed()).toBe(false)
    // One that told no number once goes on from where it was.
    time = -1e12 + 1_000
    expect(await allowed()).toBe(true)
    expect(refusals.count).toBe(6)
  })

  it('a flood of one operation keeps no line of another one out', async () => {
    const lines: Line[] = []
    const sink = { write: async (refused: readonly Line[]) => void lines.push(...refused) }
    const report = (): void => undefined
    const refusals = new Refusals({ sink, now: () => 0, report, burstMax: 6, lineMs: 1_000 })
    for (let times = 0; times < 100; times++) refusals.record({ operation: 'verify', reason: 'no-grant' })
    refusals.record({ operation: 'resume', reason: 'other-store' })
    await refusals.close()
    expect(lines.map(({ operation }) => operation)).toEqual(['verify', 'verify', 'verify', 'resume', 'close'])
    expect(lines.at(-1)!.suppressed).toBe(97)
    expect(refusals.count).toBe(101)
  })

  it('a flood by one principal keeps no line of another one out, of the same operation', async () => {
    const world = new World()
    const process = world.start({ grants: () => undefined, config: { refusedBurstMax: 16 } })
    const flooding = ['mallory', 'malcolm', 'maurice']
    for (const id of flooding)
      for (let times = 0; times < 200; times++) await reasonFor(() => resume(process, id))
    // Without a principal: all who show nothing that holds share one place.
    const nobody = { mode: 'resume', credential: { mechanism: 'none' }, scope } as const
    for (let times = 0; times < 200; times++) await reasonFor(() => process.continuity.open(nobody))
    await reasonFor(() => resume(process, 'eve'))
    await process.continuity.close()
    const kept = keptIn(world).map(({ principal = 'nobody' }) => principal)
    const countOf = (id: string): number => kept.filter((each) => each === id).length
    const asked = [...flooding.map((id) => `test:${id}`), 'nobody', 'test:eve']
    expect(asked.map(countOf)).toEqual([8, 4, 2, 1, 1])
    expect(process.continuity.refusedCount).toBe(801)
  })

  it('also in the long run: of what a flood leaves over time, others still find a line', () => {
    let time = 0
    const rate = new RefusalRate({ burstMax: 16, lineMs: 1_000 })
    const written: string[] = []
    const attempt = (principal: string): void => {
      if (rate.take({ operation: 'resume', principal }, time) !== undefined) written.push(principal)
    }
    for (; time < 3_600_000; time += 100) {
      attempt('mallory')
      if (time % 600_000 === 500_000) attempt('eve')
    }
    expect(written.filter((principal) => principal === 'eve')).toHaveLength(6)
    // Half of what may be written in that time.
    expect(written.length).toBeGreaterThan(1_500)
    expect(written.length).toBeLessThan(1_900)
  })

  it('while the medium hangs what waits is bounded, and has room for everybody', async () => {
    let time = 0
    const lines: Line[] = []
    let go = (): void => undefined
    const hangs = new Promise<void>((resolve) => (go = resolve))
    const sink = {
      write: async (refused: readonly Line[]) => {
        await hangs
        lines.push(...refused)
      },
    }
    const report = (): void => undefined
    const refusals = new Refusals({ sink, now: () => time, report, burstMax: 8, lineMs: 1_000 })
    const attempt = (principal: string): void =>
      refusals.record({ operation: 'resume', reason: 'no-grant', principal })
    attempt('first') // is being written
    await Promise.resolve()
    await Promise.resolve()
    for (; time < 1_000_000; time += 1_000) attempt('mallory')
    attempt('eve')
    go()
    await refusals.close()
    const countOf = (id: string): number => lines.filter(({ principal }) => principal === id).length
    expect(countOf('mallory')).toBe(4)
    expect(countOf('eve')).toBe(1)
    const told = lines.reduce((sum, { suppressed }) => sum + suppressed, 0)
    expect(told + lines.filter(({ operation }) => operation === 'resume').length).toBe(refusals.count)
  })

  it('whoever has used nothing of late is not remembered', () => {
    const shares = new FairShares()
    let sizeMax = 0
    for (let each = 0; each < 100_000; each++) {
      expect(shares.take(`principal-${each}`, { left: 16, gained: each / 4 })).toBe(true)
      sizeMax = Math.max(sizeMax, shares.size)
    }
    // Of two lines that are gained, and of one more until it is looked for.
    expect(sizeMax).toBeLessThanOrEqual(12)
  })

  it('so many operations have a rate of their own; the rest share one, and are counted', async () => {
    const lines: Line[] = []
    const sink = { write: async (refused: readonly Line[]) => void lines.push(...refused) }
    const report = (): void => undefined
    const refusals = new Refusals({ sink, now: () => 0, report, burstMax: 2, lineMs: 1_000 })
    for (let each = 0; each < 1_000; each++)
      refusals.record({ operation: `made-up-${each}`, reason: 'closed' })
    await refusals.close()
    // 63 of their own, one of the last one, and the line for what was only counted.
    expect(lines).toHaveLength(65)
    expect(lines.at(-1)!.suppressed).toBe(1_000 - 64)
  })

  it('of what a caller chose, at most 200 characters of a field are kept, and no secret', async () => {
    const world = new World()
    const process = world.start({ grants: () => undefined })
    await reasonFor(() => resume(process, 'x'.repeat(250)))
    const open = {
      mode: 'resume',
      credential: { mechanism: 'test', token: '"a-secret-word"' },
      scope,
    } as const
    await reasonFor(() => process.continuity.open(open))
    await process.continuity.close()
    const [first] = keptIn(world) as unknown as [{ principal: string }]
    expect(first.principal).toHaveLength(200)
    expect(JSON.stringify(keptIn(world))).not.toContain('secret-word')
  })

  it('however long it goes on, the first files stay, the last ones make room, and the folder is bounded', async () => {
    const world = new World()
    const { store } = world.start()
    const refused = (time: number) => ({
      time,
      operation: 'resume',
      reason: 'no-grant' as const,
      scope: 'x'.repeat(200),
      principal: 'y'.repeat(200),
      suppressed: 0,
    })
    const perFile = Math.floor(refusalFileSizeBytesMax / (JSON.stringify(refused(100_000)).length + 1))
    const total = perFile * (firstFilesMax + lastFilesMax + 9)
    for (let from = 0; from < total; from += 500)
      await store.refusals.write(Array.from({ length: 500 }, (_, index) => refused(100_000 + from + index)))
    const folder = join(world.root, 'continuity', 'refusals')
    const names = readdirSync(folder).sort()
    expect(names).toHaveLength(firstFilesMax + lastFilesMax)
    for (const name of names)
      expect(statSync(join(folder, name)).size).toBeLessThanOrEqual(refusalFileSizeBytesMax)
    const times = (keptIn(world) as unknown as { time: number }[]).map(({ time }) => time)
    expect(times[0]).toBe(100_000)
    expect(times[perFile * firstFilesMax - 1]).toBe(100_000 + perFile * firstFilesMax - 1)
    expect(times.at(-1)).toBeGreaterThanOrEqual(100_000 + total - 1)
  })

  it('a medium that fails is reported, and refuses nobody anything else', async () => {
    const world = new World()
    const process = world.start({ grants: granted({ 'test:alice': [scope] }) })
    Object.defineProperty(process.store.refusals, 'write', {
      value: () => Promise.reject(Object.assign(new Error('EIO'), { code: 'EIO' })),
    })
    expect(await reasonFor(() => resume(process, 'bob'))).toBe('no-grant')
    await (await begin(process)).close()
    expect(process.reported).toMatchObject([{ code: 'EIO' }])
  })
})
