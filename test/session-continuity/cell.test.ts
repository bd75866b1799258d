import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { scratch } from './scratch.ts'
import { FileCell, keptMax, systemPort, type ContinuityPort } from './source.ts'

function cellIn(base: string, port: ContinuityPort = systemPort): FileCell {
  return new FileCell({ port, path: join(base, 'cell'), above: base, name: 'n', storeId: 's' })
}

describe('a value under compare-and-swap', () => {
  it('of many who replace the same value at once one succeeds', async () => {
    const base = scratch()
    const cells = Array.from({ length: 16 }, () => cellIn(base))
    for (let expected = 0; expected < 5; expected++) {
      const all = await Promise.all(cells.map((cell, who) => cell.replace({ who }, { expected })))
      expect(all.filter((number) => number !== undefined)).toEqual([expected + 1])
    }
    expect(await cellIn(base).read()).toMatchObject({ kind: 'found', number: 5 })
  })

  it('who comes too late by more values than are kept is told, and changes nothing', async () => {
    const base = scratch()
    const cell = cellIn(base)
    for (let expected = 0; expected < keptMax + 4; expected++) await cell.replace({ expected }, { expected })
    // Its number is free again: the value that had it was removed.
    expect(readdirSync(join(base, 'cell'))).not.toContain('000002')
    expect(await cell.replace({ late: true }, { expected: 1 })).toBeUndefined()
    expect(await cell.read()).toMatchObject({ number: keptMax + 4, value: { expected: keptMax + 3 } })
  })

  it('so many values are kept, and no file that came to nothing', async () => {
    const base = scratch()
    const cell = cellIn(base)
    for (let expected = 0; expected < 40; expected++) {
      await cell.replace({ expected }, { expected })
      await cell.replace({ lost: expected }, { expected })
    }
    const names = readdirSync(join(base, 'cell'))
    expect(names.length).toBeLessThanOrEqual(keptMax + 1)
    expect(names.filter((name) => name.startsWith('tmp-'))).toEqual([])
  })

  it('a file that a killed process was to link is cleared away, and whoever still would finds out', async () => {
    const base = scratch()
    let before: (() => Promise<void>) | undefined
    const slow: ContinuityPort = {
      ...systemPort,
      link: async (from, to) => {
        const work = before
        before = undefined
        await work?.()
        return systemPort.link(from, to)
      },
    }
    const cell = cellIn(base)
    before = async () => {
      for (let expected = 0; expected < 3; expected++) await cell.replace({ expected }, { expected })
    }
    expect(await cellIn(base, slow).replace({ slow: true }, { expected: 0 })).toBeUndefined()
    expect(await cell.read()).toMatchObject({ number: 3 })
    expect(readdirSync(join(base, 'cell')).sort()).toEqual(['000001', '000002', '000003'])
  })

  it('a number may be skipped; who decided on the value before the gap is told', async () => {
    const base = scratch()
    const cell = cellIn(base)
    await cell.replace({ at: 1 }, { expected: 0 })
    expect(await cell.replace({ at: 8 }, { expected: 1, above: 7 })).toBe(8)
    expect(await cell.replace({ late: true }, { expected: 1 })).toBeUndefined()
    expect(await cell.read()).toMatchObject({ number: 8, value: { at: 8 } })
  })

  it('files are 0600 and folders 0700 whatever the umask', async () => {
    const base = scratch()
    for (const mask of [0o000, 0o077, 0o777]) {
      const before = process.umask(mask)
      try {
        const cell = new FileCell({
          port: systemPort,
          path: join(base, `${mask}`, 'cell'),
          above: base,
          name: 'n',
          storeId: 's',
        })
        await cell.replace({}, { expected: 0 })
      } finally {
        process.umask(before)
      }
      expect((await systemPort.stat(join(base, `${mask}`, 'cell'))).mode).toBe(0o700)
      expect((await systemPort.stat(join(base, `${mask}`, 'cell', '000001'))).mode).toBe(0o600)
    }
  })
})
