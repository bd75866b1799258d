import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { upTo } from '../batches.ts'
import { say, startJournal } from '../host.ts'
import { refusalOf } from '../refusal.ts'
import { examine, nothingWrong } from './examine.ts'
import { told } from './line.ts'
import { childTestMs, hasAcknowledged, isAnswered, Nursery } from './nursery.ts'

const claimants = 8

let nursery: Nursery

beforeEach(async () => {
  nursery = new Nursery()
  await nursery.prepare()
})
afterEach(() => nursery.killAll())

describe('a session that another process holds', { timeout: childTestMs }, () => {
  it('B01: of eight that resume at once one gets it, and the others are told who', async () => {
    const children = await Promise.all(upTo(claimants).map((n) => nursery.spawn(`${n}`, { isSilent: true })))
    for (const child of children) child.go()
    await Promise.all(children.map((child) => child.until(isAnswered)))
    const holders = children.filter(({ lines }) => told(lines, 'resumed').length > 0)
    expect(holders.length).toBe(1)
    const locked = { told: 'refused', code: 'LOCKED', holder: holders[0]!.identity }
    const others = children.filter((child) => child !== holders[0])
    expect(others.map(({ lines }) => told(lines, 'refused'))).toEqual(others.map(() => [locked]))
  })

  it('B10: is free as soon as its holder is dead', async () => {
    const first = await nursery.spawn('first', { isSilent: true })
    first.go()
    await first.until(isAnswered)
    await first.kill()
    const next = await nursery.spawn('next')
    next.go()
    await next.until(hasAcknowledged(1))
    expect(told(next.lines, 'refused')).toEqual([])
  })

  it('B01: is not free while its holder is stopped, and the refusal names it', async () => {
    const child = await nursery.spawn('stopped')
    child.go()
    await child.until(hasAcknowledged(5))
    child.signal('SIGSTOP')
    const ctx = await startJournal(nursery.root)
    const { code, details } = await refusalOf(() => ctx.sessionPersistence.resume('a'))
    expect({ code, holder: details.holder }).toEqual({ code: 'LOCKED', holder: child.identity })
    child.signal('SIGCONT')
    await child.until(hasAcknowledged(told(child.lines, 'acknowledged').length + 5))
    expect(told(child.lines, 'refused')).toEqual([])
  })

  it('B01: goes to who insists, and a holder that wakes up acknowledges nothing more', async () => {
    const child = await nursery.spawn('stopped')
    child.go()
    await child.until(hasAcknowledged(5))
    child.signal('SIGSTOP')
    const ctx = await startJournal(nursery.root)
    const session = await ctx.sessionPersistence.resume('a', { force: true })
    const before = told(child.lines, 'acknowledged').length
    const { seq } = say(session, 'taken over')
    await ctx.sessions.flush(session)
    child.signal('SIGCONT')
    await child.gone()
    expect(told(child.lines, 'refused')).toEqual([{ told: 'refused', code: 'FENCED' }])
    // What it had in flight when it was stopped may have been told late; nothing after the claim was acknowledged.
    expect(told(child.lines, 'acknowledged').length).toBeLessThanOrEqual(before + 1)
    const events = [{ seq, label: 'taken over', length: 'taken over'.length }]
    await ctx.sessions.dispose(session)
    const own = { id: 'a', events }
    const lines = [{ told: 'writing', ...own } as const, { told: 'acknowledged', ...own } as const]
    expect(await examine(nursery.root, [...nursery.lines, ...lines])).toMatchObject(nothingWrong)
  })
})
