import { extractive, messagesTokens, type Summarizer, type Tokenizer } from '@tidemark/compaction'
import { isEvent, isSessionError, type Session } from '@tidemark/session-core'
import type { Context } from 'cordis'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { complaints } from '../session-core/pairing.ts'
import { answer, call, cold, crash, seen, startHost, systemTexts } from './host.ts'
import { doing, saying } from './summarizers.ts'

const tokenizer: Tokenizer = { name: 'characters', count: (text) => text.length }
const tokens = (session: Session): number => messagesTokens(session.messages(), tokenizer)

const kinds = [
  'ask',
  'ask',
  'label',
  'brief',
  'reply',
  'reply',
  'reply',
  'call',
  'call',
  'answer',
  'answer',
] as const
const others = ['turn', 'end', 'pin', 'unpin', 'crash', 'compact', 'compact', 'maybe', 'maybe'] as const

interface Op {
  readonly kind: (typeof kinds | typeof others)[number]
  readonly pick: number
  readonly size: number
}

const op = fc.record({
  kind: fc.constantFrom(...kinds, ...others),
  pick: fc.nat(7),
  // Short ones, and now and then one that is longer than the context.
  size: fc.oneof({ weight: 9, arbitrary: fc.nat(200) }, { weight: 1, arbitrary: fc.nat(3_000) }),
})
const ops = fc.array(op, { maxLength: 60, size: 'max' })
const config = fc.record({
  contextTokensMax: fc.integer({ min: 256, max: 3_000 }),
  retainTokens: fc.nat(3_000),
  triggerRatio: fc.constantFrom(0.5, 0.8, 1),
})

const summarizers: readonly Summarizer[] = [
  extractive,
  saying('short'),
  doing(({ tokensMax = 0 }) => ({ text: 's'.repeat(tokensMax) })),
  doing(({ tokensMax = 0 }) => ({ text: 's'.repeat(tokensMax + 1) })),
]

function act(ctx: Context, session: Session, { kind, pick, size }: Op): void {
  const text = 'x '.repeat(size / 2 + 1)
  const say = (said: string, author: 'human' | 'agent'): unknown =>
    session.append('user/message', { parts: [{ type: 'text', text: said, author }] })
  switch (kind) {
    case 'ask':
      return void say(text, 'human')
    case 'label':
      return void say(`FACT[key ${pick % 3}]: ${text.slice(0, 120)}\n${text}`, 'human')
    case 'brief':
      return void say(text, 'agent')
    case 'reply':
      return void session.append('assistant/message', { parts: [{ type: 'text', text }] })
    case 'call':
      return void call(session, `call ${pick}`)
    case 'answer': {
      const calls = [...session.log].filter((event) => isEvent(event, 'tool/call'))
      const one = calls.at(-1 - pick)
      return one && answer(session, one, text)
    }
    case 'turn':
      return void session.append('turn/start', {})
    case 'end':
      return void session.append('turn/end', { reason: 'interrupted' })
    case 'pin':
      return void ctx.compaction.pin(session, { key: `key ${pick % 4}`, text: `fact ${text.slice(0, 120)}` })
    case 'unpin':
      return void ctx.compaction.unpin(session, `key ${pick % 4}`)
    case 'crash':
    case 'compact':
    case 'maybe':
      return
  }
}

/** Compacts, and says what it came to: `applied`, `nothing`, or a code. */
async function compact(ctx: Context, session: Session, { kind, pick }: Op): Promise<string> {
  const summarizer = summarizers[pick % summarizers.length]!
  const options = { summarizer, ...(pick > 5 && { retainMessages: pick }) }
  try {
    const asked = kind === 'maybe' ? ctx.compaction.maybeCompact : ctx.compaction.compact
    const result = await asked.call(ctx.compaction, session, options)
    return 'error' in result ? result.error.code : result.outcome
  } catch (error) {
    if (!isSessionError(error)) throw error
    return error.code
  }
}

describe('any transcript in any budget', () => {
  it('is never more than the budget once a compaction was applied, with every fact and every pair in it', async () => {
    const outcomes = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(config, ops, async (settings, told) => {
        const ctx = await startHost({ tokenizer, ...settings })
        let session = ctx.sessions.create()
        for (const each of told) {
          if (each.kind === 'crash') session = crash(ctx, session)
          if (each.kind !== 'compact' && each.kind !== 'maybe') {
            try {
              act(ctx, session, each)
            } catch (error) {
              if (!isSessionError(error)) throw error
            }
            continue
          }
          const before = { length: session.log.length, tokens: tokens(session) }
          const outcome = await compact(ctx, session, each)
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
          if (outcome === 'nothing') expect(session.log.length).toBe(before.length)
          if (outcome !== 'applied') {
            expect(tokens(session)).toBe(before.tokens)
            continue
          }
          expect(tokens(session)).toBeLessThanOrEqual(settings.contextTokensMax)
          const shown = systemTexts(session)
          for (const { text } of ctx.compaction.facts(session)) expect(shown).toContain(text)
          expect(complaints(session.messages())).toEqual([])
          expect(cold(ctx, session)).toBe(seen(session))
        }
      }),
      { numRuns: 150 },
    )
    // Each way to end was met: the property is about something.
    for (const outcome of ['applied', 'nothing', 'SUMMARY_TOO_LARGE', 'PINS_TOO_LARGE'])
      expect(outcomes.get(outcome) ?? 0).toBeGreaterThan(0)
  })

  it('is planned as it then comes to be: what stays, what is replaced, and how much it takes', async () => {
    await fc.assert(
      fc.asyncProperty(config, ops, async (settings, told) => {
        const ctx = await startHost({ tokenizer, ...settings, factsSizeBytesMax: 1_048_576 })
        let session = ctx.sessions.create()
        for (const each of told) {
          if (each.kind === 'crash') session = crash(ctx, session)
          try {
            act(ctx, session, each)
          } catch (error) {
            if (!isSessionError(error)) throw error
          }
        }
        try {
          const plan = ctx.compaction.plan(session)
          if (plan.kind === 'nothing') return
          const { now, retained, facts, afterMax, summaryMax, gainMax } = plan.tokens!
          const replaced = messagesTokens(plan.messages, tokenizer)
          expect(now).toBe(tokens(session))
          expect(retained).toBe(now - replaced)
          expect(afterMax).toBeLessThanOrEqual(settings.contextTokensMax)
          const summarizer = doing(() => ({ text: 's'.repeat(Math.min(summaryMax, gainMax)) }))
          const result = await ctx.compaction.compact(session, { summarizer })
          expect(result).toMatchObject({ outcome: 'applied', range: plan.range })
          expect(tokens(session)).toBe(afterMax)
          const block = session
            .messages()
            .filter(({ seq }) => seq === plan.range.from)
            .slice(0, -1)
          expect(messagesTokens(block, tokenizer)).toBe(facts)
        } catch (error) {
          if (!isSessionError(error)) throw error
          expect(error.code).toBe('PINS_TOO_LARGE')
        }
      }),
      { numRuns: 200 },
    )
  })
})
