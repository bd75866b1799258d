import { isSessionError, type Session, type SessionError, type SessionEvent } from '@tidemark/session-core'
import fc from 'fast-check'
import { compactions, messagesTokens, type Tokenizer } from '@tidemark/compaction'
import type { Context } from 'cordis'
import { describe, expect, it } from 'vitest'
import { cutBy, deal, deals, task } from './deals.ts'
import { cold, crash, say, seen, sessionOf, startHost } from './host.ts'
import { held } from './summarizers.ts'

async function start(config: Parameters<typeof startHost>[0] = { retainMessages: 0 }): Promise<Context> {
  const ctx = await startHost(config)
  ctx.sessions.define(deals)
  return ctx
}

const open = (session: Session, id = 'a'): number => session.append('deal/start', { id }).seq
const close = (session: Session, id = 'a'): number => session.append('deal/end', { id }).seq
const last = ({ log }: Session): number => log.length - 1
const through = (ctx: Context, session: Session, retainMessages: number): number | undefined => {
  const plan = ctx.compaction.plan(session, { retainMessages })
  return plan.kind === 'replace' ? plan.range.through : undefined
}

/** A session with messages before, in and after a bracket that was closed. */
function withClosed(ctx: Context): { session: Session; opened: number; closed: number } {
  const session = sessionOf(ctx, 4)
  const opened = open(session)
  for (let turn = 0; turn < 3; turn++) say(session, 'inside')
  const closed = close(session)
  say(session, 'after')
  return { session, opened, closed }
}

describe('a range of the planner', () => {
  it('G33: never ends inside a closed one, and goes over a whole one', async () => {
    const ctx = await start()
    const { session, opened, closed } = withClosed(ctx)
    for (let retained = 3; retained <= 8; retained++) expect(through(ctx, session, retained)).toBe(opened - 1)
    expect(through(ctx, session, 2)).toBeGreaterThanOrEqual(closed)
    expect(through(ctx, session, 0)).toBe(last(session))
  })

  it('ends before the opening of a live one, also where no message comes between', async () => {
    const ctx = await start()
    const session = sessionOf(ctx, 6)
    const opened = open(session)
    expect(through(ctx, session, 0)).toBe(opened - 1)
    say(session, 'inside')
    expect(through(ctx, session, 0)).toBe(opened - 1)
    session.abandon(deal, opened)
    expect(through(ctx, session, 0)).toBe(last(session))
  })

  it('is held up by no orphan, in the next life and in a fork that cuts it', async () => {
    const ctx = await start()
    const session = sessionOf(ctx, 6)
    const opened = open(session)
    say(session, 'inside')
    const closing = session.log.length
    const resumed = crash(ctx, session)
    expect(through(ctx, resumed, 0)).toBe(last(resumed))
    close(session)
    for (const child of [ctx.sessions.fork(session, { through: closing - 1 }), resumed]) {
      say(child, 'after')
      expect(through(ctx, child, 3)).toBe(child.messages().at(-3)!.seq - 1)
      expect(child.messages().at(-3)!.seq).toBeGreaterThan(opened)
    }
  })

  it('is held by what a fork inherits whole, and by what each side closes for itself', async () => {
    const ctx = await start()
    const session = sessionOf(ctx, 4)
    const opened = open(session)
    say(session, 'inside')
    say(session, 'inside')
    close(session)
    const child = ctx.sessions.fork(session)
    say(child, 'after')
    for (const each of [session, child, ctx.sessions.view(child.header, [...child.log])])
      expect(through(ctx, each as Session, each === session ? 1 : 3)).toBe(opened - 1)
    const second = open(child, 'b')
    say(child, 'inside the other')
    close(child, 'b')
    expect([through(ctx, child, 1), through(ctx, session, 0)]).toEqual([second - 1, last(session)])
  })

  it('takes overlapping ones as one', async () => {
    const ctx = await start()
    const session = sessionOf(ctx, 4)
    const opened = open(session, 'a')
    say(session, 'of a')
    open(session, 'b')
    say(session, 'of both')
    close(session, 'a')
    say(session, 'of b')
    close(session, 'b')
    for (let retained = 1; retained <= 6; retained++) expect(through(ctx, session, retained)).toBe(opened - 1)
  })

  it('is held up by no bracket that does not declare it, live or closed', async () => {
    const ctx = await start()
    const session = ctx.sessions.create()
    session.append('task/start', {})
    for (let turn = 0; turn < 6; turn++) say(session, 'inside')
    expect(through(ctx, session, 2)).toBe(last(session) - 3)
    session.append('task/end', {})
    say(session, 'after')
    expect(through(ctx, session, 4)).toBeGreaterThan(12)
    expect(await ctx.compaction.compact(session, { retainMessages: 4 })).toMatchObject({ outcome: 'applied' })
    expect(seen(session)).toBe(cold(ctx, session))
  })
})

describe('a range of a caller', () => {
  it('G33: that cuts a closed one is refused, and told which holds it and the nearest place', async () => {
    const ctx = await start()
    const { session, opened, closed } = withClosed(ctx)
    const length = session.log.length
    const holder = { bracket: 'deal', openSeq: opened }
    const refused: [{ from: number; through: number }, object][] = [
      [
        { from: 0, through: opened + 4 },
        { ...holder, seq: opened - 1 },
      ],
      [
        { from: 0, through: opened },
        { ...holder, seq: opened - 1 },
      ],
      [
        { from: opened, through: closed - 1 },
        { ...holder, seq: closed },
      ],
      [
        { from: opened + 1, through: closed },
        { ...holder, seq: opened },
      ],
      [
        { from: closed, through: length - 1 },
        { ...holder, seq: opened },
      ],
      [
        { from: opened + 2, through: opened + 6 },
        { ...holder, seq: opened },
      ],
    ]
    for (const [range, details] of refused) {
      const work = ctx.compaction.compact(session, { range })
      await expect(work).rejects.toMatchObject({ code: 'INVALID_SEQ', details })
    }
    expect(session.log.length).toBe(length)
    for (const range of [
      { from: opened, through: closed },
      { from: 0, through: closed },
    ]) {
      const child = ctx.sessions.fork(session)
      expect(await ctx.compaction.compact(child, { range })).toMatchObject({ outcome: 'applied', range })
    }
  })

  it('that holds a live one, or lies after its opening, is refused', async () => {
    const ctx = await start()
    const session = sessionOf(ctx, 4)
    const opened = open(session)
    for (let turn = 0; turn < 4; turn++) say(session, 'inside')
    const through = last(session)
    const holder = { bracket: 'deal', openSeq: opened }
    for (const [from, details] of [
      [0, { ...holder, seq: opened - 1 }],
      [opened, holder],
      [opened + 1, holder],
      [opened + 5, holder],
    ] as const) {
      const work = ctx.compaction.compact(session, { range: { from, through } })
      const error: unknown = await work.catch((cause: unknown) => cause)
      expect(error).toMatchObject({ code: 'INVALID_SEQ', details })
      expect(Object.keys((error as { details: object }).details).includes('seq')).toBe('seq' in details)
    }
    close(session)
    const range = { from: opened, through: last(session) }
    expect(await ctx.compaction.compact(session, { range })).toMatchObject({ outcome: 'applied', range })
  })
})

it('what opens while a summary is made lies after the range, and stays', async () => {
  const ctx = await start()
  const session = sessionOf(ctx, 6)
  const { summarizer, answer } = held()
  const running = ctx.compaction.compact(session, { summarizer })
  const opened = open(session)
  say(session, 'inside')
  answer('short')
  expect(await running).toMatchObject({ outcome: 'applied', range: { from: 0, through: 23 } })
  expect(through(ctx, session, 0)).toBeUndefined()
  close(session)
  expect(through(ctx, session, 0)).toBe(last(session))
  expect(opened).toBe(25)
})

describe('automatic mode', () => {
  const tokenizer: Tokenizer = { name: 'characters', count: (text) => text.length }
  const budget = { contextTokensMax: 4_000, tokenizer, automatic: true }
  const settle = async (ctx: Context, session: Session): Promise<void> => {
    for (let round = 0; round < 4; round++) {
      await new Promise(setImmediate)
      await ctx.compaction.idle(session)
    }
  }

  it('keeps the budget for ever beside a bracket that was opened first and never ended', async () => {
    const ctx = await start(budget)
    const session = ctx.sessions.create()
    session.append('task/start', {})
    for (let turn = 0; turn < 60; turn++) {
      say(session, `request ${turn}`)
      await settle(ctx, session)
      expect(messagesTokens(session.messages(), tokenizer)).toBeLessThanOrEqual(4_000)
    }
    expect(session.open(task).map(({ status }) => status)).toEqual(['live'])
    expect(session.read(compactions).records.length).toBeGreaterThan(2)
  })

  it('G33: goes round closed ones of every length, and says what holds it where a live one does', async () => {
    const ctx = await start(budget)
    const session = ctx.sessions.create()
    const reasons: string[] = []
    ctx.on('tidemark/over-budget', (_, { reason }) => void reasons.push(reason))
    for (let round = 0; round < 12; round++) {
      open(session)
      for (let turn = 0; turn <= round % 3; turn++) {
        say(session, `inside ${round}`)
        await settle(ctx, session)
      }
      close(session)
      say(session, `request ${round}`)
      await settle(ctx, session)
    }
    const applied = session.read(compactions).records.filter(({ fate }) => fate === 'applied')
    expect(applied.length).toBeGreaterThan(2)
    expect(cutBy(session.log)).toEqual([])
    open(session, 'live')
    for (let turn = 0; turn < 10; turn++) {
      say(session, 'inside')
      await settle(ctx, session)
    }
    expect(reasons.at(-1)).toBe('held-open')
    close(session, 'live')
    say(session, 'after')
    await settle(ctx, session)
    expect(messagesTokens(session.messages(), tokenizer)).toBeLessThanOrEqual(4_000)
  })
})

describe('any history of them', () => {
  const kinds = fc.constantFrom('open', 'open', 'close', 'close', 'close', 'say', 'abandon', 'crash')
  const ops = fc.array(fc.tuple(kinds, fc.nat(1)), { minLength: 4, maxLength: 40, size: 'max' })
  const tell = (ctx: Context, told: readonly (readonly [string, number])[]): Session => {
    let session = ctx.sessions.create()
    for (const [kind, pick] of told) {
      const id = `${pick}`
      const live = session.open(deal).find((each) => each.key === id && each.status === 'live')
      if (kind === 'say') say(session, 'said')
      if (kind === 'open' && !live) open(session, id)
      if (kind === 'close' && live) close(session, id)
      if (kind === 'abandon' && live) session.abandon(deal, live.seq)
      if (kind === 'crash') session = crash(ctx, session)
    }
    return session
  }

  it('G33: a range of a caller is refused where a scan finds that it cuts one, and else nowhere', async () => {
    const ctx = await start()
    const met = { cut: 0, whole: 0 }
    fc.assert(
      fc.property(ops, (told) => {
        const session = tell(ctx, told)
        const { length } = session.log
        for (let from = 0; from < length; from += 3) {
          for (let through = from; through < length; through += 2) {
            const range = { from, through }
            const isCut = cutBy([...session.log, ...applying(range, length)]).length > 0
            met[isCut ? 'cut' : 'whole'] += 1
            const error = refusal(() => ctx.compaction.plan(session, { range }))
            expect([isCut, error?.code ?? 'INVALID_SEQ', error?.details['bracket'] ?? 'deal']).toEqual([
              error !== undefined,
              'INVALID_SEQ',
              'deal',
            ])
            const { seq: nearest = -1 } = error?.details ?? {}
            if (nearest < from) continue
            const next = { from, through: nearest }
            expect(cutBy([...session.log, ...applying(next, length)])).toEqual([])
          }
        }
      }),
      { numRuns: 100 },
    )
    expect([met.cut > 500, met.whole > 500]).toEqual([true, true]) // about 2,000 of each
  })

  it('G33: a range of the planner cuts none, whatever is to stay, and is the last one that does not', async () => {
    const ctx = await start()
    let planned = 0
    fc.assert(
      fc.property(ops, fc.nat(6), (told, retainMessages) => {
        const session = tell(ctx, told)
        const plan = ctx.compaction.plan(session, { retainMessages })
        if (plan.kind === 'nothing') return
        const { range } = plan
        planned += 1
        const { length } = session.log
        expect(cutBy([...session.log, ...applying(range, length)])).toEqual([])
        const messages = session.messages()
        const wished = (messages[messages.length - retainMessages]?.seq ?? length) - 1
        for (let through = range.through + 1; through <= wished; through++)
          expect(cutBy([...session.log, ...applying({ from: 0, through }, length)])).toHaveLength(1)
      }),
      { numRuns: 200 },
    )
    expect(planned).toBeGreaterThan(50)
  })
})

/** As if a compaction of a range had been applied next. */
function applying(range: { from: number; through: number }, seq: number): SessionEvent[] {
  const start = { type: 'compact/start', data: { id: 'x', range, trigger: 'manual' } }
  const end = { type: 'compact/end', data: { id: 'x', outcome: 'applied' } }
  return [start, end].map(
    (event, index) => ({ ...event, seq: seq + index, time: 0 }) as unknown as SessionEvent,
  )
}

function refusal(work: () => unknown): SessionError | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    if (isSessionError(error)) return error
    throw error
  }
}
