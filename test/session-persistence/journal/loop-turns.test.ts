import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemPort } from '@tidemark/session-persistence/journal'
import { afterEach, describe, expect, it } from 'vitest'
import { say, startJournal } from '../host.ts'
import { scratch } from '../scratch.ts'

let isOver = false
afterEach(() => {
  isOver = true
})

/** How often the loop turned, at most `wanted` times, while this was done again and again. */
async function turnsWhile(work: () => Promise<unknown>, wanted: number, timesMax: number): Promise<number> {
  let turns = 0
  isOver = false
  const turn = (): void => {
    turns += 1
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  for (let times = 0; times < timesMax && turns < wanted; times++) await work()
  return turns
}

describe('the event loop', () => {
  it('turns while small sessions are read in a row, so that what waits is written', async () => {
    const ctx = await startJournal(scratch())
    for (const id of ['a', 'b']) say(await ctx.sessionPersistence.create({ id }), 'one')
    for (const session of ctx.sessions) await session.flush()
    const [writing] = ctx.sessions
    say(writing!, 'two')
    expect(await turnsWhile(() => ctx.sessionPersistence.inspect('b'), 10, 5_000)).toBe(10)
    const isWritten = async (): Promise<void> => {
      await ctx.sessionPersistence.history('b')
      if (writing?.durableSeq === 1) throw new Error('written')
    }
    await expect(turnsWhile(isWritten, Infinity, 5_000)).rejects.toThrow('written')
  })

  const file = (): string => {
    const path = join(scratch(), 'file')
    writeFileSync(path, 'content')
    return path
  }
  it.each<[string, (path: string) => Promise<() => Promise<unknown>>]>([
    ['stat', async (path) => () => systemPort.stat(path)],
    ['realpath', async (path) => () => systemPort.realpath(path)],
    ['readdir', async (path) => () => systemPort.readdir(join(path, '..'))],
    ['open', async (path) => async () => (await systemPort.open(path, 'read')).close()],
    [
      'read',
      async (path) => {
        const opened = await systemPort.open(path, 'read')
        return () => opened.read(new Uint8Array(7), 0)
      },
    ],
    [
      'stat of an open file',
      async (path) => {
        const opened = await systemPort.open(path, 'read')
        return () => opened.stat()
      },
    ],
  ])('turns while only %s is called in a row', async (_, make) => {
    expect(await turnsWhile(await make(file()), 3, 100_000)).toBe(3)
  })
})
