import { defineBracket, isSessionError, type Definitions, type Session } from '@tidemark/session-core'
import type { Context } from 'cordis'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { define, startHost } from './host.ts'
import { codeOf } from './refusal.ts'

declare module '@tidemark/session-core' {
  interface SessionEventMap {
    'whole/start': { readonly id: string }
    'whole/end': { readonly id: string }
  }
}

const keyed = { schema: z.strictObject({ id: z.string() }) }
const input = {
  name: 'whole',
  open: 'whole/start',
  close: 'whole/end',
  key: ({ data }: { data: { id: string } }) => data.id,
} as const
const whole = defineBracket({ ...input, indivisible: true })
const events = { 'whole/start': keyed, 'whole/end': keyed }
const definitions: Definitions = { owner: 'wholes', events, brackets: [whole] }

let ctx: Context
let session: Session

beforeEach(async () => {
  ctx = await startHost()
  await define(ctx, definitions)
  session = ctx.sessions.create()
})

const open = (id: string, of = session): number => of.append('whole/start', { id }).seq
const close = (id: string, of = session): number => of.append('whole/end', { id }).seq

describe('an indivisible bracket', () => {
  it('is told from its opening to its close, in the order of the openings', () => {
    const [a, b] = [open('a'), open('b')]
    expect(session.spans(whole)).toEqual([])
    const endB = close('b')
    const endA = close('a')
    expect(session.spans(whole)).toEqual([
      { seq: a, through: endA },
      { seq: b, through: endB },
    ])
  })

  it('leaves no span where it was orphaned or abandoned', () => {
    session.append('turn/start', {})
    open('abandoned')
    session.append('turn/end', { reason: 'interrupted' })
    open('orphaned')
    const resumed = ctx.sessions.create({ seed: [...session.log] })
    expect(resumed.spans(whole)).toEqual([])
    const [seq, through] = [open('orphaned', resumed), close('orphaned', resumed)]
    expect(resumed.spans(whole)).toEqual([{ seq, through }])
  })

  it('is told alike live, cold, in a fork, and after boundaries; a fork that cuts it has an orphan', () => {
    const [seq, through] = [open('a'), close('a')]
    const cutAt = open('b')
    close('b')
    const told = session.spans(whole)
    expect(ctx.sessions.view(session.header, [...session.log]).spans(whole)).toEqual(told)
    expect(ctx.sessions.fork(session).spans(whole)).toEqual(told)
    expect(ctx.sessions.fork(session, { through: cutAt }).spans(whole)).toEqual([{ seq, through }])
    expect(session.snapshot().projections.get('bracket:whole')).toMatchObject({ version: 2 })
  })

  it('has at most 1,024 spans: beyond, the two oldest are one', () => {
    for (let count = 0; count < 1_025; count++) {
      open('a')
      close('a')
    }
    const spans = session.spans(whole)
    expect([spans.length, spans[0], spans[1], spans.at(-1)]).toEqual([
      1_024,
      { seq: 0, through: 3 },
      { seq: 4, through: 5 },
      { seq: 2_048, through: 2_049 },
    ])
  })

  it('is told as a naive scan finds it, over any openings, closes, turns, crashes and forks', () => {
    const ops = fc.array(
      fc.tuple(fc.constantFrom('open', 'close', 'turn', 'end', 'crash', 'fork'), fc.nat(2)),
    )
    fc.assert(
      fc.property(ops, (told) => {
        let of = ctx.sessions.create()
        for (const [kind, pick] of told) {
          if (kind === 'crash') of = ctx.sessions.create({ seed: [...of.log] })
          if (kind === 'fork') of = ctx.sessions.fork(of, { through: of.log.length - 1 })
          try {
            if (kind === 'open') open(String(pick), of)
            if (kind === 'close') close(String(pick), of)
            if (kind === 'turn') of.append('turn/start', {})
            if (kind === 'end') of.append('turn/end', { reason: 'interrupted' })
          } catch (error) {
            if (!isSessionError(error)) throw error // what fits no bracket is refused
          }
        }
        expect(of.spans(whole)).toEqual(scanned(of))
      }),
    )
  })
})

function scanned({ log }: Session): { seq: number; through: number }[] {
  const found: { seq: number; through: number }[] = []
  let live: { id: string; seq: number }[] = []
  let turnSeq = -1
  for (const { type, seq, data } of log) {
    const { id = '' } = data as { id?: string }
    if (type === 'session/resumed') live = []
    if ((type === 'turn/end' || type === 'turn/start') && turnSeq >= 0)
      live = live.filter((each) => each.seq < turnSeq)
    if (type === 'turn/end' || type === 'session/resumed') turnSeq = -1
    if (type === 'turn/start') turnSeq = seq
    if (type === 'whole/start') live.push({ id, seq })
    if (type !== 'whole/end') continue
    const opening = live.find((each) => each.id === id)!
    live = live.filter((each) => each !== opening)
    found.push({ seq: opening.seq, through: seq })
  }
  return found.sort((one, other) => one.seq - other.seq)
}

describe('the declaration', () => {
  it('is true or left out; anything else is refused, and nothing is defined', () => {
    for (const indivisible of ['yes', 1, false, null]) {
      const bracket = defineBracket({ ...input, name: 'odd', indivisible: indivisible as never })
      const added = codeOf(() => ctx.sessions.define({ owner: 'wholes', brackets: [bracket] }))
      expect([added, ctx.sessions.vocabulary.bracket('odd')]).toEqual(['INVALID_EVENT', undefined])
    }
  })

  it('left out, a bracket has no spans, and the state that it always had', () => {
    const plain = defineBracket({ ...input, name: 'plain' })
    ctx.sessions.define({ owner: 'wholes', brackets: [plain] })
    open('a')
    close('a')
    expect([session.spans(plain), 'indivisible' in plain]).toEqual([[], false])
    expect(session.snapshot().projections.get('bracket:plain')).toMatchObject({ version: 1 })
  })
})
