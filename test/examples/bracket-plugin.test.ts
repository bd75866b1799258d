import { readFileSync } from 'node:fs'
import * as core from '@tidemark/session-core'
import { Context } from 'cordis'
import { beforeEach, expect, it, onTestFinished } from 'vitest'
import * as indexer from '../../examples/bracket-plugin.ts'
import type {} from '@tidemark/session-core/cordis'

let ctx: Context

beforeEach(async () => {
  ctx = new Context()
  await ctx.plugin(core, core.Config.parse({}))
  await ctx.plugin(indexer)
  onTestFinished(() => ctx.fiber.dispose())
})

const statuses = (session: core.Session): string[] =>
  session.open(indexer.indexing).map(({ status }) => status)

it('one index is made at a time: a second start is refused as busy', () => {
  const session = ctx.sessions.create()
  indexer.startIndex(session, 'src')
  expect(() => indexer.startIndex(session, 'test')).toThrowError(expect.objectContaining({ code: 'BUSY' }))
  session.append('index/end', { fileCount: 3 })
  indexer.startIndex(session, 'test')
  expect(statuses(session)).toEqual(['live'])
})

it('a session that inherits an index which nobody makes any more starts it again', () => {
  const first = ctx.sessions.create()
  indexer.startIndex(first, 'src')
  const second = ctx.sessions.create({ seed: first.log })
  expect([...second.log].map(({ type }) => type)).toEqual(['index/start', 'session/resumed', 'index/start'])
  expect(second.log.at(2).data).toEqual({ folder: 'src' })
  expect(statuses(second)).toEqual(['live'])
})

it('so does one that is there when the plugin is loaded', async () => {
  const other = new Context()
  await other.plugin(core, core.Config.parse({}))
  onTestFinished(() => other.fiber.dispose())
  const seed = [{ seq: 0, time: 0, type: 'index/start', data: { folder: 'src' } }]
  const session = other.sessions.create({ seed, carry: ['index/start'] })
  await other.plugin(indexer)
  expect([...session.log].map(({ type }) => type)).toEqual(['index/start', 'session/resumed', 'index/start'])
})

it('loading it again while an index is made is refused, and harms nothing', async () => {
  const session = ctx.sessions.create()
  indexer.startIndex(session, 'src')
  await expect(ctx.plugin({ ...indexer })).rejects.toMatchObject({ code: 'BUSY' })
  expect(statuses(session)).toEqual(['live'])
})

it('when it is unloaded, what it was doing is abandoned and blocks nobody', async () => {
  const host = new Context()
  await host.plugin(core, core.Config.parse({}))
  onTestFinished(() => host.fiber.dispose())
  const plugin = await host.plugin(indexer)
  const session = host.sessions.create()
  indexer.startIndex(session, 'src')
  await plugin.dispose()
  expect(session.log.last?.type).toBe('bracket/abandoned')
})

it('the page on brackets quotes the examples as they are', () => {
  const page = readFileSync(new URL('../../docs/brackets.md', import.meta.url), 'utf8')
  const examples = ['bracket-plugin', 'run-plugin', 'deal-plugin'].map((name) =>
    readFileSync(new URL(`../../examples/${name}.ts`, import.meta.url), 'utf8'),
  )
  const linesOf = (text: string): string[] => text.split('\n').map((line) => line.trim())
  const quoted = [...page.matchAll(/```ts\n(.*?)```/gs)].flatMap(([, code = '']) => linesOf(code))
  const known = new Set(examples.flatMap(linesOf))
  expect(quoted.length).toBeGreaterThan(8)
  // In the example the append is returned.
  const said = quoted.map((line) => line.replace(/^session\.append\(/, 'return session.append('))
  expect(said.filter((line) => !known.has(line))).toEqual([])
})

it('a fork that is cut while an index is made starts its own, and leaves the parent’s alone', () => {
  const parent = ctx.sessions.create()
  indexer.startIndex(parent, 'src')
  const child = ctx.sessions.fork(parent)
  expect([...child.log].map(({ type }) => type)).toEqual(['index/start', 'session/resumed', 'index/start'])
  expect([statuses(parent), statuses(child)]).toEqual([['live'], ['live']])
  parent.append('index/end', { fileCount: 3 })
  expect([statuses(parent), statuses(child)]).toEqual([[], ['live']])
})
