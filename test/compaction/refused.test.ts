import { SessionError, type Recorder, type Session } from '@tidemark/session-core'
import type { CompactionEnded, OverBudget, Tokenizer } from '@tidemark/compaction'
import type { Context } from 'cordis'
import { describe, expect, it } from 'vitest'
import { crash, load, say, statuses, summaries, types } from './host.ts'
import { held, saying } from './summarizers.ts'

const budget = { contextTokensMax: 2_000, automatic: true } as const

function heard(ctx: Context): { ended: CompactionEnded[]; over: OverBudget[] } {
  const told = { ended: [] as CompactionEnded[], over: [] as OverBudget[] }
  ctx.on('tidemark/compaction', (_session, ended) => void told.ended.push(ended))
  ctx.on('tidemark/over-budget', (_session, status) => void told.over.push(status))
  return told
}

/** A writer that refuses some types when it is told to, and tells nobody when it takes them again. */
function writer(): { recorder: Recorder; refused: (type: string) => boolean; asked: string[] } {
  const state = {
    refused: (_type: string): boolean => false,
    asked: [] as string[],
    recorder: {
      durableSeq: -1,
      admit: ({ type }) => {
        if (type.startsWith('compact/')) state.asked.push(type)
        if (state.refused(type)) throw new SessionError('BACK_PRESSURE', 'too much waits')
      },
      flush: async () => undefined,
      close: async () => undefined,
    } satisfies Recorder,
  }
  return state
}

async function settled(ctx: Context, session: Session): Promise<void> {
  for (let round = 0; round < 4; round++) {
    await new Promise(setImmediate)
    await ctx.get('compaction')?.idle(session)
  }
}

async function turn(ctx: Context, session: Session): Promise<void> {
  session.append('turn/start', {})
  session.append('turn/end', { reason: 'completed' })
  await settled(ctx, session)
}

function fill(session: Session, turns = 25): void {
  for (let turn = 0; turn < turns; turn++) say(session, `request ${turn}`)
}

const starts = (session: Session): number => types(session).filter((type) => type === 'compact/start').length

describe('what automatic mode cannot begin', () => {
  const broken: [string, () => number, string][] = [
    [
      'throws',
      () => {
        throw new TypeError('no')
      },
      'START_FAILED',
    ],
    ['gives no count', () => Number.NaN, 'INVALID_EVENT'],
  ]

  it.each(broken)(
    'D02: because the tokenizer %s is told, recorded and tried no more until there is growth',
    async (_how, count, code) => {
      let isBroken = true
      let calls = 0
      const tokenizer: Tokenizer = {
        name: 'broken',
        count: (text) => (calls++, isBroken ? count() : Math.ceil(text.length / 4)),
      }
      const { ctx } = await load({ ...budget, tokenizer })
      const told = heard(ctx)
      let session = ctx.sessions.create()
      fill(session)
      await settled(ctx, session)
      expect(told.over).toEqual([{ reason: 'refused', code, refusals: 1 }])
      expect(told.ended).toMatchObject([
        { outcome: 'failed', trigger: 'automatic', error: { code: 'START_FAILED' } },
      ])
      expect(types(session).slice(-2)).toEqual(['compact/start', 'compact/end'])
      expect(statuses(session)).toEqual([])
      const asked = calls
      for (let round = 0; round < 20; round++) await turn(ctx, session)
      expect([calls, starts(session), told.over.length]).toEqual([asked, 1, 1])
      for (let life = 0; life < 5; life++) {
        session = crash(ctx, session)
        await settled(ctx, session)
      }
      expect(starts(session)).toBe(1)
      fill(session, 30)
      await settled(ctx, session)
      expect(starts(session)).toBe(2)
      isBroken = false
      fill(session, 30)
      await settled(ctx, session)
      expect(ctx.compaction.status(session)).toMatchObject({ isOver: false, attempts: 0 })
      expect(summaries(session).length).toBe(1)
    },
  )

  it('in a session that is surely within its budget is no failure of it', async () => {
    const tokenizer: Tokenizer = { name: 'broken', count: () => Number.NaN }
    const { ctx } = await load({ ...budget, tokenizer })
    const told = heard(ctx)
    const session = ctx.sessions.create()
    say(session, 'hello', 'good morning')
    await settled(ctx, session)
    expect([starts(session), told.over]).toEqual([0, []])
  })

  it('because the writer refuses the start is told once, and backs off', async () => {
    const { ctx } = await load({ ...budget, summarizer: saying('short') })
    const told = heard(ctx)
    const state = writer()
    const session = ctx.sessions.create({ recorder: state.recorder })
    state.refused = (type) => type.startsWith('compact/')
    fill(session)
    await settled(ctx, session)
    const asked = state.asked.length
    expect(asked).toBeGreaterThan(0)
    for (let round = 0; round < 20; round++) await turn(ctx, session)
    expect(state.asked.length).toBe(asked)
    expect(told.over).toMatchObject([{ reason: 'refused', code: 'BACK_PRESSURE', refusals: 1, isOver: true }])
    expect([starts(session), told.ended]).toEqual([0, []])
    state.refused = () => false
    fill(session, 3)
    await settled(ctx, session)
    expect(told.ended).toMatchObject([{ outcome: 'applied' }])
  })
})

describe('an end that the writer did not take, in automatic mode', () => {
  it('is recorded at the next end of a turn, though nobody tells that the writer takes events again', async () => {
    const { summarizer, answer } = held()
    const { ctx } = await load({ ...budget, summarizer })
    const told = heard(ctx)
    const state = writer()
    const session = ctx.sessions.create({ recorder: state.recorder })
    fill(session)
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    expect(statuses(session)).toEqual(['live'])
    state.refused = (type) => type.startsWith('compact/') || type === 'bracket/abandoned'
    answer('short')
    await settled(ctx, session)
    for (let round = 0; round < 3; round++) await turn(ctx, session)
    expect(statuses(session)).toEqual(['live'])
    expect(told.ended).toMatchObject([{ outcome: 'unrecorded' }])
    state.refused = () => false
    await turn(ctx, session)
    expect(statuses(session)).toEqual([])
    expect(session.log.last?.type).toBe('compact/end')
    fill(session, 5)
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    answer('short')
    await settled(ctx, session)
    expect(told.ended).toMatchObject([{ outcome: 'unrecorded' }, { outcome: 'applied' }])
  })

  it('is recorded after a while also where nothing more happens', async () => {
    const { summarizer, answer } = held()
    const { ctx, plugin } = await load({ ...budget, summarizer })
    const state = writer()
    const session = ctx.sessions.create({ recorder: state.recorder })
    fill(session)
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    state.refused = (type) => type.startsWith('compact/') || type === 'bracket/abandoned'
    answer('short')
    const tried = (): number => state.asked.filter((type) => type === 'compact/end').length
    await expect.poll(tried, { timeout: 5_000 }).toBeGreaterThanOrEqual(4)
    state.refused = () => false
    await expect.poll(() => session.log.last?.type, { timeout: 5_000 }).toBe('compact/end')
    const asked = state.asked.length
    await plugin.dispose()
    expect(state.asked.length).toBe(asked)
  })
})

describe('counting in automatic mode', () => {
  it('lets others in between the messages', async () => {
    let turns = 0
    let counting = 0
    let counted = 0
    const tokenizer: Tokenizer = {
      name: 'slow',
      count: (text) => {
        if (text.length > 50_000) {
          counted++
          if (counting !== turns) counting = turns
        }
        return Math.ceil(text.length / 4)
      },
    }
    const { ctx } = await load({ automatic: true, contextTokensMax: 1_000_000, tokenizer })
    const session = ctx.sessions.create()
    let isOver = false
    const tick = (): void => {
      turns++
      if (!isOver) setImmediate(tick)
    }
    setImmediate(tick)
    for (let index = 0; index < 10; index++) say(session, 'large', 'x'.repeat(100_000))
    await expect.poll(() => counted).toBe(10)
    isOver = true
    expect(counting).toBeGreaterThanOrEqual(9)
  })
})
