import {
  forkDepthMax,
  toolCall,
  turn,
  type AnySessionEvent,
  type Session,
  type Sessions,
} from '@tidemark/session-core'
import { beforeEach, describe, expect, it } from 'vitest'
import { guestDefinitions, job } from './guest.ts'
import { define, startHost } from './host.ts'
import { codeOf } from './refusal.ts'
import { lines, speaker } from './speaker.ts'

let sessions: Sessions
let parent: Session

beforeEach(async () => {
  const ctx = await startHost()
  await define(ctx, guestDefinitions)
  sessions = ctx.sessions
  parent = sessions.create({ id: 'parent' })
  for (const text of ['a', 'b', 'c']) speaker(parent).user(text)
})

describe('a fork', () => {
  it.each([12.1, -1, NaN, '12', 3, 2 ** 53, Infinity, null, {}, -0.5, 2n])(
    'is refused at %s, which is no seq of its parent',
    (through) => {
      const count = [...sessions].length
      expect(codeOf(() => sessions.fork(parent, { through: through as number }))).toBe('INVALID_SEQ')
      expect([...sessions]).toHaveLength(count)
    },
  )

  it('G10: holds its parent’s events up to its cut, which its header names', () => {
    for (const through of [0, 1, 2]) {
      const child = sessions.fork(parent, { through })
      expect([...child.log].slice(0, -1)).toEqual([...parent.log].slice(0, through + 1))
      expect(child.header.parent).toEqual({ id: 'parent', seq: through })
      expect(child.header.forkedAt).toEqual([through])
      expect(child.boundarySeq).toBe(through + 1)
    }
  })

  it('is of the whole log where no cut is given, and of an empty one too', () => {
    expect(sessions.fork(parent).header.parent).toEqual({ id: 'parent', seq: 2 })
    const empty = sessions.fork(sessions.create({ id: 'empty' }))
    expect([empty.header.parent, empty.log.length]).toEqual([{ id: 'empty', seq: -1 }, 1])
  })

  it('has its own id and meta, and its own time', async () => {
    let now = 1
    const ctx = await startHost({ now: () => now })
    const old = ctx.sessions.create({ meta: { a: 1 } })
    now = 2
    const { header } = ctx.sessions.fork(old, { id: 'child', meta: { b: 2 } })
    expect(header).toMatchObject({ id: 'child', createdAt: 2, meta: { b: 2 } })
    expect(ctx.sessions.fork(old).header).not.toHaveProperty('meta')
  })

  it('G10: leaves its parent untouched, and is left untouched by it', () => {
    const before = [...parent.log]
    const child = sessions.fork(parent, { through: 1 })
    speaker(child).user('child')
    expect([...parent.log]).toEqual(before)
    speaker(parent).user('parent')
    expect(lines(child)).toEqual(['user: a', 'user: b', 'user: child'])
    expect(lines(parent)).toEqual(['user: a', 'user: b', 'user: c', 'user: parent'])
  })

  it('G10: may be cut inside a turn, a call and a plugin’s bracket, which are orphaned there', () => {
    speaker(parent).turn()
    speaker(parent).call()
    parent.append('job/start', { id: 'a' })
    const child = sessions.fork(parent)
    for (const bracket of [turn, toolCall, job]) {
      expect(child.open(bracket).map(({ status }) => status)).toEqual(['orphaned'])
      expect(parent.open(bracket).map(({ status }) => status)).toEqual(['live'])
    }
    const early = sessions.fork(parent, { through: 3 })
    expect([early.open(turn).length, early.open(toolCall).length]).toEqual([1, 0])
  })

  it('holds what was closed by its cut as closed', () => {
    const seq = speaker(parent).call()
    speaker(parent).result(seq)
    expect(sessions.fork(parent).open(toolCall)).toEqual([])
    expect(sessions.fork(parent, { through: seq }).open(toolCall)).toMatchObject([{ status: 'orphaned' }])
  })

  it('of a fork names its own parent and every cut whose boundary it holds', () => {
    const child = sessions.fork(parent, { id: 'child', through: 1 })
    speaker(child).user('d')
    const grandchild = sessions.fork(child)
    expect(grandchild.header.parent).toEqual({ id: 'child', seq: 3 })
    expect(grandchild.header.forkedAt).toEqual([1, 3])
    const early = sessions.fork(child, { through: 0 })
    expect([early.header.parent, early.header.forkedAt]).toEqual([{ id: 'child', seq: 0 }, [0]])
  })

  it('may be of a session that is over, and outlives its parent', async () => {
    await sessions.dispose(parent)
    const child = sessions.fork(parent)
    expect(speaker(child).user('d')).toBe(4)
  })

  it('is refused past the limit of forks of forks', () => {
    const forkedAt = Array.from({ length: forkDepthMax - 1 }, (_, index) => index)
    const header = sessions.forkHeader({ id: 'a', createdAt: 0, forkedAt }, forkDepthMax)
    expect(header.forkedAt).toHaveLength(forkDepthMax)
    expect(codeOf(() => sessions.forkHeader(header, forkDepthMax + 1))).toBe('INVALID_SEQ')
  })
})

describe('a fork of a long session', () => {
  const length = 200_000
  const event = (_: unknown, seq: number): AnySessionEvent => ({ seq, time: 0, type: 'step/start', data: {} })

  it('copies no event, wherever it is cut', () => {
    const long = sessions.create({ seed: Array.from({ length }, event) })
    for (const through of [length, length - 1, 1_023, 1_024, 1_025, 100_000]) {
      const child = sessions.fork(long, { through })
      expect(child.log.length).toBe(through === length ? through + 1 : through + 2)
      for (let seq = 0; seq <= through; seq += 997) expect(child.log.at(seq)).toBe(long.log.at(seq))
      expect(child.log.at(through)).toBe(long.log.at(through))
      const own = child.append('turn/start', {})
      expect([long.log.length, child.log.last]).toEqual([length + 1, own])
    }
  })
})

describe('a log', () => {
  it('refuses to give what it does not hold', () => {
    for (const seq of [-1, 3, 0.5, NaN, '0', 2 ** 53]) {
      expect(codeOf(() => parent.log.at(seq as number))).toBe('INVALID_SEQ')
    }
    expect(parent.log.at(2).seq).toBe(2)
  })

  it('is walked as it was when the walk began', () => {
    const seqs: number[] = []
    for (const { seq } of parent.log) {
      seqs.push(seq)
      speaker(parent).user('more')
    }
    expect([seqs, parent.log.length]).toEqual([[0, 1, 2], 6])
    expect([...parent.log.range(1, 2)].map(({ seq }) => seq)).toEqual([1, 2])
    expect([...parent.log.range(4, 99)].map(({ seq }) => seq)).toEqual([4, 5])
    expect([...parent.log.range(9)]).toEqual([])
  })

  it.each([1_023, 1_024, 1_025, 2_048])('keeps a view as it was after %i events', (count) => {
    const session = sessions.create()
    for (let seq = 0; seq < count; seq++) speaker(session).step()
    const view = session.seed().log
    for (let seq = 0; seq < 1_100; seq++) speaker(session).step()
    expect([view.length, view.last?.seq, [...view].length]).toEqual([count, count - 1, count])
    expect([...session.log].map(({ seq }) => seq)).toEqual([...Array(count + 1_100).keys()])
  })
})
