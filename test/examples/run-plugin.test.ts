import * as core from '@tidemark/session-core'
import { Context } from 'cordis'
import { beforeEach, expect, it, onTestFinished } from 'vitest'
import * as runner from '../../examples/run-plugin.ts'
import type {} from '@tidemark/session-core/cordis'

let ctx: Context
let session: core.Session

beforeEach(async () => {
  ctx = new Context()
  await ctx.plugin(core, core.Config.parse({}))
  onTestFinished(() => ctx.fiber.dispose())
})

const openOf = (of: core.Session): unknown[] =>
  of.open(runner.running).map(({ key, status }) => [key, status])

it('runs are told apart by their key, and a second opening of a live one is refused', async () => {
  await ctx.plugin(runner)
  session = ctx.sessions.create()
  runner.startRun(session, 'a')
  runner.startRun(session, 'b')
  expect(() => runner.startRun(session, 'a')).toThrowError(expect.objectContaining({ code: 'ALREADY_OPEN' }))
  session.append('run/end', { run: 'a', outcome: 'done' })
  expect(openOf(session)).toEqual([['b', 'live']])
})

it('an orphan is open until its key is opened again; the projection still tells of it', async () => {
  await ctx.plugin(runner)
  const first = ctx.sessions.create()
  runner.startRun(first, 'a')
  runner.startRun(first, 'b')
  session = ctx.sessions.create({ seed: first.log })
  expect(openOf(session)).toEqual([
    ['a', 'orphaned'],
    ['b', 'orphaned'],
  ])
  runner.startRun(session, 'a')
  expect(openOf(session)).toEqual([
    ['b', 'orphaned'],
    ['a', 'live'],
  ])
  expect(session.read(runner.runs)).toEqual({ open: ['a'], lost: ['a', 'b'] })
})

it('when it is unloaded, a live run is closed with what it says of it', async () => {
  const plugin = await ctx.plugin(runner)
  session = ctx.sessions.create()
  runner.startRun(session, 'a')
  await plugin.dispose()
  expect(session.log.last).toMatchObject({ type: 'run/end', data: { run: 'a', outcome: 'unloaded' } })
})

it('the events that a key and a settle are given are typed by what the bracket names', () => {
  const typed = core.defineBracket({
    name: 'typed',
    open: 'run/start',
    close: ['run/end'],
    // @ts-expect-error no event of this bracket has a path
    key: ({ data }) => data.path,
    // @ts-expect-error an opening has no outcome yet
    settle: ({ data }) => ({ type: 'run/end', data: { run: data.run, outcome: data.outcome } }),
  })
  const untyped: core.Bracket['key'] = ({ seq }) => seq
  const wide: core.BracketInput = { name: 'wide', open: 'run/start', close: 'run/end', key: untyped }
  expect([typed.late, core.defineBracket(wide).key]).toEqual([false, untyped])
})
