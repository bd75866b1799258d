import { join } from 'node:path'
import { toolCall, turn } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it } from 'vitest'
import { eventLines, hashOf, readStored, segmentsOf, storedSeqs } from './files.ts'
import { say, startJournal, textsOf, typesOf } from './host.ts'
import { upTo } from './batches.ts'
import { codeOf } from './refusal.ts'
import { scratch } from './scratch.ts'

let root: string
let ctx: Context
beforeEach(async () => {
  root = join(scratch(), 'root')
  ctx = await startJournal(root)
})

const create = async (texts: readonly string[], id = 'p') => {
  const session = await ctx.sessionPersistence.create({ id })
  for (const text of texts) say(session, text)
  return session
}

describe('fork of a living session', () => {
  it('the parent is flushed as far as it is inherited, and is otherwise untouched', async () => {
    const parent = await create(['one', 'two', 'three'])
    expect(parent.durableSeq).toBe(-1)
    const child = await ctx.sessionPersistence.fork(parent, { id: 'c', through: 1, meta: { x: 1 } })
    expect(parent.durableSeq).toBe(2)
    expect(child.header).toMatchObject({
      id: 'c',
      parent: { id: 'p', seq: 1 },
      forkedAt: [1],
      meta: { x: 1 },
    })
    expect(typesOf(child)).toEqual(['user/message', 'user/message', 'session/resumed'])
    say(child, 'mine')
    say(parent, 'yours')
    await ctx.sessions.dispose(child)
    await ctx.sessions.dispose(parent)
    expect(textsOf(await ctx.sessionPersistence.inspect('c'))).toEqual(['one', 'two', 'mine'])
    expect(textsOf(await ctx.sessionPersistence.inspect('p'))).toEqual(['one', 'two', 'three', 'yours'])
    expect(eventLines(root, 'c').slice(0, 2)).toEqual(eventLines(root, 'p').slice(0, 2))
    expect(segmentsOf(root, 'p')).toHaveLength(1)
  })

  it('FR-G02, G10: a child that never says a word is read as a fork: nothing that it inherited is live there', async () => {
    const parent = await create(['one'])
    parent.append('turn/start', {})
    parent.append('tool/call', { callId: 'c', name: 'shell', arguments: {} })
    const child = await ctx.sessionPersistence.fork(parent, { id: 'c' })
    expect(child.durableSeq).toBe(child.log.length - 1)
    const read = await ctx.sessionPersistence.inspect('c')
    expect([...read.open(turn), ...read.open(toolCall)].map(({ status }) => status)).toEqual([
      'orphaned',
      'orphaned',
    ])
    expect(read.messages()).toEqual(child.messages())
    expect(parent.open(toolCall).map(({ status }) => status)).toEqual(['live'])
  })

  it('shares its events in memory with the child', async () => {
    const parent = await create(['one', 'two'])
    const child = await ctx.sessionPersistence.fork(parent)
    expect(child.log.at(0)).toBe(parent.log.at(0))
  })

  it('by id it is the same', async () => {
    await create(['one', 'two'])
    const child = await ctx.sessionPersistence.fork('p', { through: 0 })
    expect(textsOf(child)).toEqual(['one'])
    expect(await storedSeqs(root, child.id)).toEqual([0, 1])
  })

  it('an untouched resume leaves its parent without a mark, and the child with one of its own', async () => {
    await ctx.sessions.dispose(await create(['one']))
    const parent = await ctx.sessionPersistence.resume('p')
    const before = eventLines(root, 'p')
    const child = await ctx.sessionPersistence.fork(parent, { id: 'c' })
    expect(typesOf(child)).toEqual(['user/message', 'session/resumed'])
    expect(child.header.parent).toEqual({ id: 'p', seq: 0 })
    say(child, 'two')
    await ctx.sessions.dispose(child)
    await ctx.sessions.dispose(parent)
    expect(eventLines(root, 'p')).toEqual(before)
    expect(await storedSeqs(root, 'c')).toEqual(upTo(3))
  })

  it('K13: in the middle of a turn, the child has what is open as orphaned, and the parent as live', async () => {
    const { turn } = await import('@tidemark/session-core')
    const parent = await ctx.sessionPersistence.create({ id: 'p' })
    parent.append('turn/start', {})
    say(parent, 'one')
    const child = await ctx.sessionPersistence.fork(parent, { id: 'c' })
    expect(child.open(turn).map(({ status }) => status)).toEqual(['orphaned'])
    expect(parent.open(turn).map(({ status }) => status)).toEqual(['live'])
    parent.append('turn/end', { reason: 'completed' })
    await ctx.sessions.flush(parent)
    expect(await storedSeqs(root, 'p')).toEqual(upTo(3))
  })

  it('a memory-only session can be forked into a stored one', async () => {
    const parent = ctx.sessions.create({ id: 'm' })
    say(parent, 'one')
    const child = await ctx.sessionPersistence.fork(parent, { id: 'c' })
    expect(child.kind).toBe('stored')
    expect(await storedSeqs(root, 'c')).toEqual([0, 1])
    expect((await ctx.sessionPersistence.list()).sessions.map(({ id }) => id)).toEqual(['c'])
  })

  it.each([2, -1, 0.5, Number.NaN])('a cut at %d is refused, and there is no child', async (through) => {
    const parent = await create(['one', 'two'])
    expect(await codeOf(() => ctx.sessionPersistence.fork(parent, { id: 'c', through }))).toBe('INVALID_SEQ')
    await ctx.sessions.dispose(parent)
    expect(await codeOf(() => ctx.sessionPersistence.fork('p', { id: 'c', through }))).toBe('INVALID_SEQ')
    expect((await ctx.sessionPersistence.list()).sessions.map(({ id }) => id)).toEqual(['p'])
  })
})

describe('fork of a stored session', () => {
  it('G10: needs no resume of the parent, and does not change it', async () => {
    await ctx.sessions.dispose(await create(['one', 'two', 'three']))
    const before = hashOf(root, 'p')
    for (const through of upTo(3)) {
      const child = await ctx.sessionPersistence.fork('p', { id: `c${through}`, through })
      expect(typesOf(child)).toEqual([...upTo(through + 1).map(() => 'user/message'), 'session/resumed'])
      await ctx.sessions.dispose(child)
    }
    expect(hashOf(root, 'p')).toBe(before)
    const forkOfFork = await ctx.sessionPersistence.fork('c1', { id: 'd' })
    expect(forkOfFork.header).toMatchObject({ parent: { id: 'c1', seq: 2 } })
    expect(textsOf(forkOfFork)).toEqual(['one', 'two'])
  })

  it('C12: inherited events are a prefix: the child grows and is read cold', async () => {
    await ctx.sessions.dispose(await create(upTo(254).map((index) => `p${index}`)))
    const child = await ctx.sessionPersistence.fork('p', { id: 'c' })
    for (const index of upTo(1_900)) say(child, `c${index}`)
    await ctx.sessions.dispose(child)
    const view = await ctx.sessionPersistence.inspect('c')
    expect(view.log.length).toBe(254 + 1 + 1_900)
    expect(view.boundarySeq).toBe(254)
    const resumed = await ctx.sessionPersistence.resume('c')
    expect(resumed.log.length).toBe(254 + 1 + 1_900 + 1)
  })

  it('an id in use is EXISTS, whoever uses it', async () => {
    await ctx.sessions.dispose(await create(['one']))
    await create(['x'], 'living')
    ctx.sessions.create({ id: 'memory' })
    for (const id of ['p', 'living', 'memory'])
      expect(await codeOf(() => ctx.sessionPersistence.fork('p', { id }))).toBe('EXISTS')
    expect(await codeOf(() => ctx.sessionPersistence.fork('nobody', { id: 'c' }))).toBe('NOT_FOUND')
    expect(await codeOf(() => ctx.sessionPersistence.fork('p', { id: '' }))).toBe('INVALID_ID')
  })

  it('the child’s writer is a life of its own', async () => {
    await ctx.sessions.dispose(await create(['one']))
    const child = await ctx.sessionPersistence.fork('p', { id: 'c' })
    const writers = (await readStored(root, 'c')).map(({ writer }) => writer.incarnation)
    expect(writers.at(-1)).toBe(child.incarnation)
    expect(writers[0]).not.toBe(child.incarnation) // what is inherited says who wrote it
  })
})
