import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  firstFilesMax,
  lastFilesMax,
  refusalFileSizeBytesMax,
} from '../../packages/session-continuity/src/file/refusal-file.ts'
import { Refusals } from './source.ts'
import { World, begin, granted, linesOf, reasonFor, resume, scope } from './world.ts'

interface Line {
  readonly suppressed: number
  readonly reason: string
  readonly operation: string
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
    // The last line is for what was only counted.
    expect(kept).toHaveLength(21)
    expect(kept.reduce((sum, { suppressed }) => sum + suppressed, 0) + 20).toBe(2_000)
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
      burstMax: 2,
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
    time = 999
    expect(await allowed()).toBe(false)
    time = 1_998
    expect(await allowed()).toBe(true)
    time = -1e12
    expect(await allowed()).toBe(false)
    time = Number.NaN
    expect(await allowed()).toBe(false)
    // One that told no number once goes on from where it was.
    time = -1e12 + 1_000
    expect(await allowed()).toBe(true)
    expect(refusals.count).toBe(8)
  })

  it('a flood of one operation keeps no line of another one out', async () => {
    const lines: Line[] = []
    const sink = { write: async (refused: readonly Line[]) => void lines.push(...refused) }
    const report = (): void => undefined
    const refusals = new Refusals({ sink, now: () => 0, report, burstMax: 3, lineMs: 1_000 })
    for (let times = 0; times < 100; times++) refusals.record({ operation: 'verify', reason: 'no-grant' })
    refusals.record({ operation: 'resume', reason: 'other-store' })
    await refusals.close()
    expect(lines.map(({ operation }) => operation)).toEqual(['verify', 'verify', 'verify', 'resume', 'close'])
    expect(lines.at(-1)!.suppressed).toBe(97)
    expect(refusals.count).toBe(101)
  })

  it('so many operations have a rate of their own; the rest share one, and are counted', async () => {
    const lines: Line[] = []
    const sink = { write: async (refused: readonly Line[]) => void lines.push(...refused) }
    const report = (): void => undefined
    const refusals = new Refusals({ sink, now: () => 0, report, burstMax: 2, lineMs: 1_000 })
    for (let each = 0; each < 1_000; each++)
      refusals.record({ operation: `made-up-${each}`, reason: 'closed' })
    await refusals.close()
    // 63 of their own, two of the last one, and the line for what was only counted.
    expect(lines).toHaveLength(66)
    expect(lines.at(-1)!.suppressed).toBe(1_000 - 65)
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
