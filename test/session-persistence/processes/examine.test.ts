import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { say, startJournal } from '../host.ts'
import { scratch } from '../scratch.ts'
import { examine } from './examine.ts'
import type { Line, Told } from './line.ts'

/** A session `a` with one batch: `one` at 0, `two` at 1. */
async function storedRoot(): Promise<string> {
  const root = join(scratch(), 'root')
  const ctx = await startJournal(root)
  const session = await ctx.sessionPersistence.create({ id: 'a' })
  say(session, 'one')
  say(session, 'two')
  await ctx.sessions.dispose(session)
  return root
}

const batchOf = (...labels: readonly string[]): Omit<Told<'writing'>, 'told'> => ({
  id: 'a',
  events: labels.map((label, seq) => ({ seq, label, length: label.length })),
})
const writing = (...labels: readonly string[]): Line => ({ told: 'writing', ...batchOf(...labels) })
const acknowledged = (...labels: readonly string[]): Line => ({ told: 'acknowledged', ...batchOf(...labels) })

describe('what is left of a killed writer', () => {
  it('is sound when it holds what was acknowledged', async () => {
    const lines = [writing('one', 'two'), acknowledged('one', 'two')]
    expect(await examine(await storedRoot(), lines)).toMatchObject({
      acknowledged: 2,
      lost: [],
      invented: [],
      halved: [],
      refused: [],
    })
  })

  it.each<[string, Line[], object]>([
    ['an acknowledged event is missing', [acknowledged('one', 'two', 'three')], { lost: ['a: three'] }],
    ['an acknowledged event is another', [acknowledged('one', 'zwei')], { lost: ['a: zwei'] }],
    ['a batch is there in part', [writing('one', 'two', 'three')], { halved: ['a: 2 of 3 from one'] }],
    ['nobody wrote what is there', [writing('one')], { invented: ['a: two'] }],
    ['a session is not there', [{ told: 'begun', id: 'b' }], { lost: ['b: all of it'] }],
  ])('is not sound when %s', async (_, lines, found) => {
    expect(await examine(await storedRoot(), lines)).toMatchObject(found)
  })
})
