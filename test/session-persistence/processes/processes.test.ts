import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readStored } from '../files.ts'
import { say, startJournal, textsOf } from '../host.ts'
import { upTo } from '../batches.ts'
import { codeOf } from '../refusal.ts'
import { scratch } from '../scratch.ts'
import { Child, type Line } from './child.ts'

let root: string
const children: Child[] = []
const spawn = (...words: readonly string[]): Child => {
  const child = new Child(root, 'a', ...words)
  children.push(child)
  return child
}

beforeEach(async () => {
  root = join(scratch(), 'root')
  const ctx = await startJournal(root)
  await ctx.sessions.dispose(await ctx.sessionPersistence.create({ id: 'a' }))
})
afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.kill()))
})

const isAcknowledged = (count: number) => (lines: readonly Line[]) =>
  lines.filter(({ acknowledged }) => acknowledged !== undefined).length >= count

async function storedTexts(): Promise<(string | undefined)[]> {
  const events = (await readStored(root, 'a')).flatMap((batch) => batch.events)
  expect(events.map(({ seq }) => seq)).toEqual(upTo(events.length))
  return events.map(({ data }) => (data as { parts?: { text: string }[] }).parts?.[0]?.text)
}

const expectKept = async (lines: readonly Line[]): Promise<void> => {
  const texts = await storedTexts()
  expect(lines.length).toBeGreaterThan(0)
  for (const { acknowledged, text } of lines) expect(texts[acknowledged!]).toBe(text)
}

describe('writers in processes of their own', () => {
  it('K07, K09: killed at any moment, everything that was acknowledged is there, and the session goes on', async () => {
    const acknowledged: Line[] = []
    for (const round of upTo(3)) {
      const child = spawn(`round ${round}`)
      await child.until(isAcknowledged(5 + round * 7))
      await child.kill()
      acknowledged.push(...child.acknowledged)
      await expectKept(acknowledged)
    }
    const ctx = await startJournal(root)
    const session = await ctx.sessionPersistence.resume('a')
    for (const { text } of acknowledged) expect(textsOf(session)).toContain(text)
    expect(new Set((await readStored(root, 'a')).map(({ writer }) => writer.pid)).size).toBe(4)
  })

  it('B01, B07: two that keep taking over from each other acknowledge nothing that is not in the log', async () => {
    const pair = [spawn('x', 'rounds'), spawn('y', 'rounds')]
    for (const child of pair) await child.until(isAcknowledged(40))
    await Promise.all(pair.map((child) => child.kill()))
    const lines = pair.flatMap((child) => child.acknowledged)
    await expectKept(lines)
    // No seq was acknowledged to both.
    expect(new Set(lines.map(({ acknowledged }) => acknowledged)).size).toBe(lines.length)
    for (const { refused } of pair.flatMap((child) => child.lines)) {
      if (refused !== undefined) expect(['FENCED', 'LOCKED']).toContain(refused)
    }
  })

  it('B01: one that was stopped, and taken over from, acknowledges nothing when it wakes up', async () => {
    const child = spawn('stopped')
    await child.until(isAcknowledged(5))
    child.signal('SIGSTOP')
    await new Promise((resolve) => setTimeout(resolve, 50))
    const before = child.acknowledged.length
    const ctx = await startJournal(root)
    const session = await ctx.sessionPersistence.resume('a')
    const { seq } = say(session, 'taken over')
    await ctx.sessions.flush(session)
    child.signal('SIGCONT')
    await child.until((lines) => lines.some(({ refused }) => refused !== undefined))
    expect(child.lines.at(-1)).toEqual({ refused: 'FENCED' })
    // What it had in flight when it was stopped may have been told late; nothing after the claim was acknowledged.
    expect(child.acknowledged.length).toBeLessThanOrEqual(before + 1)
    await expectKept([...child.acknowledged, { acknowledged: seq, text: 'taken over' }])
    await ctx.sessions.dispose(session)
    expect(await codeOf(() => ctx.sessionPersistence.inspect('nobody'))).toBe('NOT_FOUND')
  })
})
