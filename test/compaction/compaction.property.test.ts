import { isEvent, type Session } from '@tidemark/session-core'
import type { Context } from 'cordis'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { complaints } from '../session-core/pairing.ts'
import { cutBy, deals } from './deals.ts'
import { answer, call, codeOf, cold, crash, seen, startHost, statuses, systemTexts } from './host.ts'
import { held } from './summarizers.ts'

const kinds = [
  'say',
  'say',
  'chunk',
  'speak',
  'call',
  'call',
  'answer',
  'answer',
  'turn',
  'end',
  'step',
  'pin',
  'unpin',
  'label',
  'compact',
  'range',
  'summary',
  'summary',
  'failure',
  'crash',
  'cut',
  'fork',
  'deal',
  'deal',
  'close',
  'close',
] as const

interface Op {
  readonly kind: (typeof kinds)[number]
  readonly pick: number
}

const ops = fc.array(fc.record({ kind: fc.constantFrom(...kinds), pick: fc.nat(60) }), {
  maxLength: 80,
  size: 'max',
})

/** One history, told op by op; `session` is the lifecycle that goes on. */
class Story {
  private readonly running = held()
  private results: Promise<unknown>[] = []

  constructor(
    private readonly ctx: Context,
    public session: Session,
  ) {}

  /** What the session refuses is refused: the story goes on. */
  async tell(op: Op): Promise<void> {
    expect(await codeOf(() => this.act(op))).not.toMatch(/not a SessionError/)
    await new Promise(setImmediate)
  }

  private act({ kind, pick }: Op): void {
    const { ctx, session } = this
    const text = `${kind} ${pick} ${'so it goes. '.repeat(10)}`
    switch (kind) {
      case 'say':
        session.append('user/message', { parts: [{ type: 'text', text, author: 'human' }] })
        break
      case 'chunk':
        session.append('assistant/chunk', { kind: 'text', text })
        break
      case 'speak':
        session.append('assistant/message', { parts: [{ type: 'text', text }] })
        break
      case 'call':
        call(session, 'call_0')
        break
      case 'answer':
        this.answerOne(pick)
        break
      case 'turn':
        session.append('turn/start', {})
        break
      case 'end':
        session.append('turn/end', { reason: 'interrupted' })
        break
      case 'step':
        session.append('step/start', {})
        break
      case 'pin':
        ctx.compaction.pin(session, { key: `key ${pick % 4}`, text: `fact ${pick}\nof two lines` })
        break
      case 'unpin':
        ctx.compaction.unpin(session, `key ${pick % 4}`)
        break
      case 'label':
        session.append('user/message', {
          parts: [{ type: 'text', text: `FACT[key ${pick % 4}]: of ${pick}\n${text}`, author: 'human' }],
        })
        break
      case 'compact':
        this.compact({ retainMessages: pick % 5 })
        break
      case 'range':
        this.compact({ range: { from: pick % 7, through: pick } })
        break
      case 'summary':
        this.running.answer(`summary ${pick}`)
        break
      case 'failure':
        this.running.fail(new TypeError('no'))
        break
      case 'crash':
        this.session = crash(ctx, session)
        break
      case 'cut':
        this.session = crash(ctx, session, Math.max(-1, session.log.length - 1 - (pick % 6)))
        break
      case 'fork':
        this.session = ctx.sessions.fork(session)
        break
      case 'deal':
        session.append('deal/start', { id: `${pick % 3}` })
        break
      case 'close':
        session.append('deal/end', { id: `${pick % 3}` })
        break
    }
  }

  private answerOne(pick: number): void {
    const calls = [...this.session.log].filter((event) => isEvent(event, 'tool/call'))
    const one = calls[pick % Math.max(1, calls.length)]
    if (one) answer(this.session, one, `answer ${pick}`)
  }

  private compact(options: { retainMessages: number } | { range: { from: number; through: number } }): void {
    const { summarizer } = this.running
    this.results.push(codeOf(() => this.ctx.compaction.compact(this.session, { ...options, summarizer })))
  }
}

function personsLines(session: Session): string[] {
  return session
    .messages()
    .flatMap(({ role, parts }) =>
      role === 'user'
        ? parts.flatMap((part) =>
            part.author === 'human' && part.type === 'text' ? part.text.split('\n') : [],
          )
        : [],
    )
}

describe('any history with compactions, crashes and forks', () => {
  it('G35: keeps every fact in force verbatim, every call paired, what is indivisible whole, and reads the same live and cold', async () => {
    const ctx = await startHost()
    ctx.sessions.define(deals)
    await fc.assert(
      fc.asyncProperty(ops, async (told) => {
        const story = new Story(ctx, ctx.sessions.create())
        for (const op of told) {
          await story.tell(op)
          const { session } = story
          expect(complaints(session.messages())).toEqual([])
          const shown = [...systemTexts(session), ...personsLines(session)]
          for (const { text } of ctx.compaction.facts(session)) expect(shown).toContain(text)
          expect(statuses(session).filter((status) => status === 'live').length).toBeLessThanOrEqual(1)
          expect(cold(ctx, session)).toBe(seen(session))
          expect(cutBy(session.log)).toEqual([])
        }
        for (const session of ctx.sessions) await ctx.sessions.dispose(session)
      }),
      { numRuns: 25 },
    )
  })

  it('a compaction takes nothing from the transcript but what stands in its range', async () => {
    const ctx = await startHost()
    ctx.sessions.define(deals)
    await fc.assert(
      fc.asyncProperty(ops, fc.nat(4), async (told, retainMessages) => {
        const story = new Story(ctx, ctx.sessions.create())
        for (const op of told) await story.tell(op)
        const session = crash(ctx, story.session)
        const plan = ctx.compaction.plan(session, { retainMessages })
        if (plan.kind === 'replace') {
          const { from, through } = plan.range
          const before = session.messages()
          const { summarizer, answer: sum } = held()
          const running = ctx.compaction.compact(session, { retainMessages, summarizer })
          sum('short')
          expect(await running).toMatchObject({ outcome: 'applied' })
          const isOutside = ({ seq }: { seq: number }): boolean => seq < from || through < seq
          expect(session.messages().filter(isOutside)).toEqual(before.filter(isOutside))
          expect(session.messages().filter((message) => !isOutside(message)).length).toBeLessThanOrEqual(2)
          expect(plan.messages).toEqual(before.filter((message) => !isOutside(message)))
        }
        for (const living of ctx.sessions) await ctx.sessions.dispose(living)
      }),
      { numRuns: 40 },
    )
  })
})
