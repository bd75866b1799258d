import { channel } from 'node:diagnostics_channel'
import { aiSdkSummarizer, type AiSdkSummarizerOptions } from '@tidemark/summarizer-ai-sdk'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { refusalOf, requestOf, said, textOfError } from './requests.ts'
import { begun, done, event, hangs, refused, resets, serve, streamed, type Reply } from './server.ts'

const origins = new Set<string>()
const noteOrigin = (message: unknown): void =>
  void origins.add(new URL((message as { request: { origin: string } }).request.origin).hostname)

beforeEach(() => channel('undici:request:create').subscribe(noteOrigin))
afterEach(() => {
  channel('undici:request:create').unsubscribe(noteOrigin)
  expect([...origins]).toEqual(['127.0.0.1'])
})

const at = (retryAfterMs: number) => ({ 'retry-after-ms': String(retryAfterMs) })

async function over(replies: readonly Reply[], options: Omit<AiSdkSummarizerOptions, 'model'> = {}) {
  const { model, seen } = await serve(...replies)
  const summarizer = aiSdkSummarizer({ model, retryDelayMs: 1, ...options })
  const summarize = (change = {}) => Promise.resolve(summarizer.summarize(requestOf(change)))
  return { summarize, seen }
}

describe('over the wire', () => {
  it.each([1, 2, 3, 7, 64, 1_000_000])('an answer in pieces of %i bytes is whole', async (pieceSizeBytes) => {
    const texts = ['The tide', ' comes in at ', '六時 🌊', '.\n\nAnd', ' goes.']
    const { summarize, seen } = await over([streamed(texts, { pieceSizeBytes })])
    expect(await summarize()).toEqual({ text: texts.join('') })
    expect(seen).toHaveLength(1)
  })

  it('the request streams, and holds one text of the system and one of the user', async () => {
    const { summarize, seen } = await over([streamed(['fine'])], { maxOutputTokens: 99 })
    await summarize()
    expect(seen[0]).toMatchObject({ path: '/v1/chat/completions', body: { stream: true, max_tokens: 99 } })
    expect(seen[0]?.body.messages.map(({ role }) => role)).toEqual(['system', 'user'])
    expect(seen[0]?.headers.authorization).toBe('Bearer sk-secret')
  })

  it('a rate limit is waited for as long as the server says', async () => {
    const { summarize, seen } = await over([refused(429, { 'retry-after': '1' }), streamed(['fine'])])
    const startedAt = performance.now()
    expect(await summarize()).toEqual({ text: 'fine' })
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(990)
    expect(seen).toHaveLength(2)
    expect(seen[1]?.body).toEqual(seen[0]?.body)
  })

  it('a rate limit that stays ends after the bounded attempts', async () => {
    const { summarize, seen } = await over([refused(429, at(1))], { maxRetries: 3 })
    expect(await refusalOf(summarize())).toMatchObject({
      code: 'BACK_PRESSURE',
      reason: 'rate-limited',
      attempts: 4,
      statusCode: 429,
    })
    expect(seen).toHaveLength(4)
  })

  it.each<[what: string, reply: Reply, found: object]>([
    ['an error of the server', refused(500, at(1)), { statusCode: 500 }],
    ['a connection that is reset', resets, { networkCode: 'ECONNRESET' }],
  ])('%s is tried again, and is told when it stays', async (_, reply, found) => {
    const passes = await over([reply, reply, streamed(['fine'])])
    expect(await passes.summarize()).toEqual({ text: 'fine' })
    const stays = await over([reply])
    const refusal = { code: 'OUTCOME_UNKNOWN', reason: 'unavailable', attempts: 3 }
    expect(await refusalOf(stays.summarize())).toMatchObject({ ...refusal, ...found })
    expect(stays.seen).toHaveLength(3)
  })

  it.each<[status: number, code: string, reason: string]>([
    [400, 'INVALID_PAYLOAD', 'rejected'],
    [401, 'DENIED', 'denied'],
    [413, 'INVALID_PAYLOAD', 'rejected'],
  ])('status %i is not tried again: %s, %s', async (status, code, reason) => {
    const { summarize, seen } = await over([refused(status)])
    expect(await refusalOf(summarize())).toMatchObject({ code, reason, statusCode: status, attempts: 1 })
    expect(seen).toHaveLength(1)
  })

  it.each<[what: string, reply: Reply]>([
    ['before the first byte', hangs],
    ['in the middle', begun('half', hangs)],
  ])('a server that hangs %s sees the connection close when the signal aborts', async (_, reply) => {
    const controller = new AbortController()
    const reason = new Error('not wanted')
    let asked = (): void => undefined
    const arrived = new Promise<void>((resolve) => (asked = resolve))
    const { summarize, seen } = await over([
      async (response) => {
        await reply(response)
        asked()
      },
    ])
    const answer = summarize({ signal: controller.signal })
    await arrived
    controller.abort(reason)
    await expect(answer).rejects.toBe(reason)
    expect(await seen[0]?.closed).toBe(false)
    expect(seen).toHaveLength(1)
  })

  // Time enough for the call to arrive, on a busy machine too.
  it.each<[what: string, options: object, reason: string]>([
    ['stalls', { stallTimeoutMs: 2_000 }, 'stalled'],
    ['takes too long', { timeoutMs: 2_000 }, 'timed-out'],
  ])('a server that %s sees the connection close', async (_, options, reason) => {
    const { summarize, seen } = await over([begun('half', hangs)], options)
    expect(await refusalOf(summarize())).toMatchObject({ code: 'OUTCOME_UNKNOWN', reason })
    expect(await seen[0]?.closed).toBe(false)
    expect(seen).toHaveLength(1)
  })

  it('comments that keep a connection alive are no sign of a model', async () => {
    const chatty: Reply = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const timer = setInterval(() => response.write(': still here\n\n'), 10)
      response.on('close', () => clearInterval(timer))
    }
    const { summarize, seen } = await over([chatty], { stallTimeoutMs: 2_000 })
    expect(await refusalOf(summarize())).toMatchObject({ reason: 'stalled' })
    expect(await seen[0]?.closed).toBe(false)
  })

  it.each<[what: string, reply: Reply, reason: string]>([
    ['cut off at the limit of tokens', streamed(['half'], { reason: 'length' }), 'truncated'],
    ['stopped by a filter', streamed(['half'], { reason: 'content_filter' }), 'filtered'],
    ['empty', streamed([]), 'empty'],
    ['a call of a tool', streamed([], { reason: 'tool_calls' }), 'not-text'],
    [
      'a called tool',
      (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        const call = { index: 0, id: 'c', type: 'function', function: { name: 'shell', arguments: '{}' } }
        response.end(event({ tool_calls: [call] }) + event({}, 'tool_calls') + done)
      },
      'not-text',
    ],
    ['ended without a reason', begun('half', (response) => void response.end()), 'broken-off'],
    ['ended by a reset', begun('half', resets), 'broken-off'],
    [
      'an error in the middle',
      begun('half', (response) => void response.end('data: {"error":{"message":"sk-secret"}}\n\n')),
      'broken-off',
    ],
    [
      'no JSON in the middle',
      begun('half', (response) => void response.end('data: {"sk-secret\n\n')),
      'broken-off',
    ],
  ])('an answer that is %s is refused, and not asked for again', async (_, reply, reason) => {
    const { summarize, seen } = await over([reply])
    expect(await refusalOf(summarize())).toMatchObject({ code: 'INVALID_PAYLOAD', reason, attempts: 1 })
    expect(seen).toHaveLength(1)
  })

  it('an answer that is too large is cut off while it streams', async () => {
    let sentSizeBytes = 0
    const endless: Reply = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const piece = event({ content: 'x'.repeat(500) })
      const more = (): void => {
        if (response.destroyed) return
        sentSizeBytes += piece.length
        response.write(piece, () => setImmediate(more))
      }
      more()
    }
    const { summarize, seen } = await over([endless])
    expect(await refusalOf(summarize())).toMatchObject({ reason: 'too-large', sizeBytesMax: 1_024 })
    expect(await seen[0]?.closed).toBe(false)
    expect(sentSizeBytes).toBeLessThan(8_388_608)
  })

  it('an error holds no key, no prompt and no answer', async () => {
    for (const reply of [refused(400), refused(500, at(60_000)), begun('sk-secret', resets)]) {
      const { summarize } = await over([reply])
      const found = await textOfError(summarize({ messages: [said('sk-secret of the prompt')] }))
      expect(found).toContain('there is no summary')
      expect(found).not.toMatch(/sk-secret|127\.0\.0\.1|prompt/)
    }
  })
})
