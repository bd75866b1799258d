import { defineBracket, type Bracket, type BracketInput, type Session } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { define, load, reported, startHost } from './host.ts'
import { guestDefinitions, job, watch } from './guest.ts'
import { codeOf } from './refusal.ts'

let ctx: Context
let session: Session

beforeEach(async () => {
  ctx = await startHost()
  session = ctx.sessions.create()
})

const types = (): string[] => [...session.log].map(({ type }) => type)
const keyed = { schema: z.strictObject({ id: z.string() }) }

function settling(settle: BracketInput['settle'], more: Partial<BracketInput> = {}): Bracket {
  const key: Bracket['key'] = (event) => (event.data as { id: string }).id
  return defineBracket({
    name: 'job',
    open: 'job/start',
    close: 'job/end',
    key,
    ...(settle && { settle }),
    ...more,
  })
}

const defining = (bracket: Bracket) => ({
  owner: 'guest',
  events: { 'job/start': keyed, 'job/end': keyed },
  brackets: [bracket],
})

describe('when a plugin goes, each of its brackets that is live', () => {
  it('is closed with what its `settle` says', async () => {
    const bracket = settling(({ data }) => ({ type: 'job/end', data }))
    const fiber = await define(ctx, defining(bracket))
    for (const id of ['a', 'b']) session.append('job/start', { id })
    session.append('job/end', { id: 'a' })
    await fiber.dispose()
    expect(types()).toEqual(['job/start', 'job/start', 'job/end', 'job/end'])
    expect(session.log.at(3).data).toEqual({ id: 'b' })
    expect(session.open(bracket)).toEqual([])
    expect(reported(ctx)).toEqual([])
  })

  it('is abandoned when there is no `settle`', async () => {
    const fiber = await define(ctx, guestDefinitions)
    session.append('job/start', { id: 'a' })
    session.append('watch/start', { id: 'a' })
    await fiber.dispose()
    expect([...session.log].slice(2).map(({ type, data }) => [type, data])).toEqual([
      ['bracket/abandoned', { bracket: 'job', openSeq: 0 }],
      ['bracket/abandoned', { bracket: 'watch', openSeq: 1 }],
    ])
    expect([session.open(job), session.open(watch)]).toEqual([[], []])
  })

  it.each<[string, BracketInput['settle']]>([
    ['throws', () => thrown()],
    ['gives nothing', () => undefined as never],
    ['gives a payload that is refused', () => ({ type: 'job/end', data: { id: 1n } })],
    ['gives a type that nobody defines', () => ({ type: 'job/gone', data: {} })],
    ['closes another one', () => ({ type: 'job/end', data: { id: 'other' } })],
    ['opens a turn instead', () => ({ type: 'turn/start', data: {} })],
  ])('is abandoned when `settle` %s', async (_what, settle) => {
    const bracket = settling(settle, { scope: 'session' })
    const fiber = await define(ctx, defining(bracket))
    session.append('job/start', { id: 'a' })
    await fiber.dispose()
    expect(session.log.last).toMatchObject({
      type: 'bracket/abandoned',
      data: { bracket: 'job', openSeq: 0 },
    })
    expect(session.open(bracket)).toEqual([])
    expect(codeOf(() => session.append('job/start', { id: 'a' }))).toBe('UNKNOWN_TYPE')
  })

  it('is settled in every session, also after one where that cannot be done', async () => {
    const key: Bracket['key'] = ({ data }) => (data as { id: { deep: string } }).id.deep
    const bracket = settling(undefined, { key })
    const loose = { schema: z.any() }
    const seed = [{ seq: 0, time: 0, type: 'job/start', data: {} }]
    const poisoned = ctx.sessions.create({ seed, carry: ['job/start'] })
    const other = ctx.sessions.create()
    const events = { 'job/start': loose, 'job/end': loose }
    const fiber = await define(ctx, { owner: 'guest', events, brackets: [bracket] })
    other.append('job/start', { id: { deep: 'a' } } as never)
    await fiber.dispose()
    expect(other.log.last).toMatchObject({ type: 'bracket/abandoned', data: { openSeq: 0 } })
    expect(poisoned.log.last?.type).toBe('session/resumed')
    expect(codeOf(() => other.append('job/start', { id: 'a' }))).toBe('UNKNOWN_TYPE')
    await define(ctx, { owner: 'another', events: { 'job/start': loose } })
  })

  it('does not keep its plugin from going, even when what failed cannot be reported', async () => {
    const fiber = await define(ctx, defining(settling(() => thrown())))
    session.append('job/start', { id: 'a' })
    ctx.logger.exporter({ export: () => thrown() })
    await fiber.dispose().catch(() => undefined)
    expect(codeOf(() => session.append('job/start', { id: 'b' }))).toBe('UNKNOWN_TYPE')
  })

  it('stays as it is when another instance of the same owner is still there', async () => {
    const fiber = await define(ctx, guestDefinitions)
    const second = await define(ctx, guestDefinitions)
    session.append('job/start', { id: 'a' })
    await fiber.dispose()
    expect(types()).toEqual(['job/start'])
    session.append('job/end', { id: 'a' })
    session.append('job/start', { id: 'b' })
    await second.dispose()
    expect(types().slice(3)).toEqual(['bracket/abandoned'])
  })

  it('can be opened again after the plugin was reloaded', async () => {
    const fiber = await define(ctx, guestDefinitions)
    session.append('job/start', { id: 'a' })
    await fiber.dispose()
    await define(ctx, guestDefinitions)
    expect(session.open(job)).toEqual([])
    expect(codeOf(() => session.append('job/end', { id: 'a' }))).toBe('NOT_OPEN')
    session.append('job/start', { id: 'a' })
    expect(session.open(job)).toMatchObject([{ seq: 2, status: 'live', key: 'a' }])
  })

  it('is left to the next boundary in a session that ends with the plugin, and nothing is reported', async () => {
    let own: Session | undefined
    const fiber = await load(ctx, (guest) => {
      guest.effect(() => guest.sessions.define(guestDefinitions))
      own = guest.sessions.create()
    })
    own?.append('job/start', { id: 'a' })
    await fiber.dispose()
    expect(reported(ctx)).toEqual([])
    expect(own && codeOf(() => own?.append('turn/start', {}))).toBe('DISPOSED')
  })

  it('is not touched when it is orphaned: a boundary has ended it already', async () => {
    const fiber = await define(ctx, guestDefinitions)
    session.append('job/start', { id: 'a' })
    const resumed = ctx.sessions.create({ seed: [...session.log] })
    session.append('job/end', { id: 'a' })
    await fiber.dispose()
    expect([...resumed.log].map(({ type }) => type)).toEqual(['job/start', 'session/resumed'])
  })
})

describe('abandon', () => {
  it('ends one live bracket, and refuses what is not live', async () => {
    await define(ctx, guestDefinitions)
    session.append('job/start', { id: 'a' })
    session.append('job/start', { id: 'b' })
    session.abandon(job, 0)
    expect(session.open(job).map(({ seq }) => seq)).toEqual([1])
    expect(codeOf(() => session.abandon(job, 0))).toBe('NOT_OPEN')
    expect(codeOf(() => session.abandon(watch, 1))).toBe('NOT_OPEN')
    const resumed = ctx.sessions.create({ seed: [...session.log] })
    expect(codeOf(() => resumed.abandon(job, 1))).toBe('NOT_OPEN')
  })
})

function thrown(): never {
  throw new Error('settle')
}
