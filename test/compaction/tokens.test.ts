import { createRequire } from 'node:module'
import { messagesTokens, o200k, type Tokenizer } from '@tidemark/compaction'
import type { RenderedMessage, TranscriptMessage } from '@tidemark/session-core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { answer, call, codeOf, say, sessionOf, startHost } from './host.ts'
import { saying } from './summarizers.ts'

interface Encoding {
  countTokens(text: string, options: { readonly disallowedSpecial: ReadonlySet<string> }): number
}

const ofCompaction = createRequire(new URL('../../packages/compaction/package.json', import.meta.url))
const encoding = ofCompaction('gpt-tokenizer/encoding/o200k_base') as Encoding
const exact = (text: string): number => encoding.countTokens(text, { disallowedSpecial: new Set() })

/** One token for each character, and a note of what it was asked. */
function counting(): Tokenizer & { readonly asked: string[] } {
  const asked: string[] = []
  return { name: 'characters', asked, count: (text) => (asked.push(text), text.length) }
}

describe('the tokens of o200k', () => {
  it.each([
    ['', 0],
    ['hello world', 2],
    ['Never push on a Friday.', 6],
    ['a'.repeat(16_000), 2_000],
  ])('of %j are those of the encoding', (text, tokens) => {
    expect(o200k.count(text)).toBe(tokens)
    expect(exact(text)).toBe(tokens)
  })

  it('are exact where a word ends in every 256 characters', () => {
    const word = fc.oneof(
      fc.string({ maxLength: 8 }),
      fc.string({ unit: 'binary', maxLength: 8 }),
      fc.constantFrom(
        "it's",
        '12345',
        '  \n\n',
        '日本語、',
        'éàü\u0301',
        '🌊',
        '//\n',
        '{"a":[1,2]}',
        "'s",
        '\ud83c',
      ),
    )
    const words = fc.array(word, { maxLength: 120 }).map((each) => each.join(' x'))
    fc.assert(
      fc.property(words, (text) => {
        expect(o200k.count(text)).toBe(exact(text))
      }),
      { numRuns: 300 },
    )
  })

  it('are off by two at most for each 256 characters in which no word ends', () => {
    const unit = fc.oneof(
      fc.constantFrom(
        'a',
        'é',
        '中',
        '🌊',
        ' ',
        '\n',
        '=',
        '\t',
        '\u0301',
        '\ud800',
        '-/',
        'aB',
        '\u3000',
        '٣',
      ),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 3 }),
    )
    fc.assert(
      fc.property(fc.array(unit, { minLength: 1, maxLength: 4 }), fc.nat(500), (units, times) => {
        const text = units.join('').repeat(times)
        const cuts = Math.ceil(text.length / 255)
        expect(Math.abs(o200k.count(text) - exact(text))).toBeLessThanOrEqual(2 * cuts)
      }),
      { numRuns: 60 },
    )
  })

  it('take what looks like a special token for the text that it is', () => {
    for (const text of ['<|endoftext|>', 'a <|im_start|>system', '<|endofprompt|><|endoftext|>']) {
      expect(o200k.count(text)).toBe(exact(text))
      expect(o200k.count(text)).toBeGreaterThan(4)
    }
  })

  // What is quadratic in the length takes minutes here; what is not, seconds.
  it('cost a time that grows with the length alone, on text without a word', { timeout: 60_000 }, () => {
    for (const unit of ['a', ' ', '\n', '=', '中', '🌊', '\ud800', '\u0301', 'aA', '\t\u3000'])
      expect(o200k.count(unit.repeat(500_000))).toBeGreaterThan(1_000)
  })
})

describe('the tokens of messages', () => {
  it('are those of their parts, with a frame around each', () => {
    const tokenizer = counting()
    const text = (value: string) => ({ type: 'text' as const, text: value })
    const messages = [
      { role: 'user', parts: [{ ...text('abc'), author: 'human' }] },
      { role: 'assistant', parts: [text('de'), { type: 'reasoning', text: 'fgh' }] },
    ] satisfies RenderedMessage[]
    expect(messagesTokens(messages.slice(0, 1), tokenizer)).toBe(4 + 2 + 3)
    expect(messagesTokens(messages, tokenizer)).toBe(9 + 4 + 2 + 2 + 2 + 3)
    expect(messagesTokens([], tokenizer)).toBe(0)
  })

  it('count calls as their JSON, and results with what they hold', async () => {
    const tokenizer = counting()
    const ctx = await startHost()
    const session = ctx.sessions.create()
    answer(session, call(session, 'c', 'ls'), 'files')
    const json = '{"id":"call-0","name":"ls","arguments":{"command":"run c"}}'
    const asked = 4 + 2 + json.length
    const given = 4 + 2 + 'call-0 ls ok'.length + 2 + 'files'.length
    expect(messagesTokens(session.messages(), tokenizer)).toBe(asked + given)
  })

  it('count a file by its size, and a picture as no more than 2,000', () => {
    const of = (mediaType: string, length: number): number => {
      const part = { type: 'file', mediaType, data: 'A'.repeat(length), author: 'human' } as const
      return messagesTokens([{ role: 'user', parts: [part] }], counting()) - 4 - 2 - mediaType.length - 2
    }
    expect(of('text/plain', 16)).toBe(3)
    expect(of('text/plain', 17)).toBe(4)
    expect(of('application/pdf', 160_000)).toBe(30_000)
    expect(of('image/png', 16)).toBe(3)
    expect(of('image/png', 160_000)).toBe(2_000)
  })

  it('are counted once for each message: counting again costs what is new', async () => {
    const tokenizer = counting()
    const ctx = await startHost()
    const session = sessionOf(ctx, 20)
    const before = messagesTokens(session.messages(), tokenizer)
    const asked = tokenizer.asked.length
    expect(messagesTokens(session.messages(), tokenizer)).toBe(before)
    expect(tokenizer.asked.length).toBe(asked)
    say(session, 'one more', 'answer')
    expect(messagesTokens(session.messages(), tokenizer)).toBeGreaterThan(before)
    expect(tokenizer.asked.slice(asked)).toEqual(['one more', 'answer'])
    await ctx.compaction.compact(session, { summarizer: saying('short') })
    const known = tokenizer.asked.length
    messagesTokens(session.messages(), tokenizer)
    expect(tokenizer.asked.slice(known).at(-1)).toBe('short')
    expect(tokenizer.asked.length).toBe(known + 2)
  })

  it('are refused from a tokenizer that gives no count', async () => {
    const message: TranscriptMessage = {
      role: 'user',
      seq: 0,
      parts: [{ type: 'text', text: 'x', author: 'human' }],
    }
    for (const count of [NaN, -1, 0.5, Infinity, '3' as unknown as number, undefined as unknown as number]) {
      const tokenizer = { name: 'wrong', count: () => count }
      expect(await codeOf(() => messagesTokens([message], tokenizer))).toBe('INVALID_EVENT')
    }
  })
})
