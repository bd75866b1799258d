import { aiSdkSummarizer } from '@tidemark/summarizer-ai-sdk'
import { APICallError } from 'ai'
import { MockLanguageModelV3, MockProviderV3 } from 'ai/test'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { finish, modelOf, promptsOf, streamOf, text, type FinishReason, type StreamPart } from './models.ts'
import { refusalOf, requestOf, said, textOfError } from './requests.ts'

const rejections: unknown[] = []
const note = (reason: unknown): void => void rejections.push(reason)

beforeEach(() => {
  process.on('unhandledRejection', note)
  vi.spyOn(console, 'error')
})
afterEach(() => {
  process.off('unhandledRejection', note)
  expect(rejections.splice(0)).toEqual([])
  expect(console.error).not.toHaveBeenCalled()
  vi.restoreAllMocks()
})

function failure(statusCode: number, headers: Record<string, string> = {}): APICallError {
  return new APICallError({
    message: 'key sk-secret is not good',
    url: 'http://127.0.0.1/v1?key=sk-secret',
    requestBodyValues: { prompt: 'sk-secret' },
    responseHeaders: { 'set-cookie': 'sk-secret', ...headers },
    responseBody: 'sk-secret',
    statusCode,
  })
}

const reset = Object.assign(new TypeError('fetch failed'), {
  cause: Object.assign(new Error('sk-secret'), { code: 'ECONNRESET' }),
})
const at = (retryAfterMs: number) => ({ 'retry-after-ms': String(retryAfterMs) })
const toolCall: StreamPart = { type: 'tool-call', toolCallId: 'c', toolName: 'shell', input: '{}' }

describe('an answer', () => {
  it('is the text of all its pieces, without the blank lines around it', async () => {
    const model = modelOf([...text('\n \r\n', '  The table', ' is in\n\n', 'docs. \r\n', '\n\t\n'), finish()])
    const { summarize } = aiSdkSummarizer({ model })
    expect(await summarize(requestOf())).toEqual({ text: '  The table is in\n\ndocs. ' })
    expect(model.doStreamCalls).toHaveLength(1)
  })

  it.each<[bytes: string, answer: string]>([
    ['1 a character', 'x'.repeat(64)],
    ['2', 'é'.repeat(32)],
    ['3', '潮'.repeat(21) + 'x'],
    ['4', '🌊'.repeat(16)],
  ])('of just as many UTF-8 bytes as may be is taken, one more is too large: %s', async (_, answer) => {
    const request = requestOf({ sizeBytesMax: 64 })
    const fits = aiSdkSummarizer({ model: modelOf([...text(answer), finish()]) })
    expect(await fits.summarize(request)).toEqual({ text: answer })
    const tooLarge = aiSdkSummarizer({ model: modelOf([...text(answer, 'x'), finish()]) })
    expect(await refusalOf(Promise.resolve(tooLarge.summarize(request)))).toEqual({
      code: 'INVALID_PAYLOAD',
      reason: 'too-large',
      attempts: 1,
      sizeBytesMax: 64,
    })
  })

  it('may come in halves of characters', async () => {
    const { summarize } = aiSdkSummarizer({
      model: modelOf([...text(...'🌊'.repeat(16).split('')), finish()]),
    })
    expect(await summarize(requestOf({ sizeBytesMax: 64 }))).toEqual({ text: '🌊'.repeat(16) })
  })

  it('that is too large is cut off at once, however much would follow', async () => {
    let given = 0
    function* endless(): Generator<StreamPart> {
      yield { type: 'text-start', id: 't' }
      for (; ; given++) yield { type: 'text-delta', id: 't', delta: 'x'.repeat(100) }
    }
    const model = modelOf(endless())
    const { summarize } = aiSdkSummarizer({ model })
    expect(await refusalOf(Promise.resolve(summarize(requestOf())))).toMatchObject({ reason: 'too-large' })
    expect(given).toBeLessThan(64)
    expect(model.doStreamCalls[0]?.abortSignal?.aborted).toBe(true)
  })

  it.each<[what: string, part: () => StreamPart]>([
    ['thinking', () => ({ type: 'reasoning-delta', id: 'r', delta: 'x'.repeat(65_536) })],
    ['nothing at all', () => ({ type: 'text-delta', id: 't', delta: '' })],
  ])('that is endless %s is too large, and its stream is cancelled', async (_, part) => {
    let given = 0
    let isCancelled = false
    function* endless(): Generator<StreamPart> {
      try {
        yield { type: 'reasoning-start', id: 'r' }
        yield { type: 'text-start', id: 't' }
        for (; ; given++) yield part()
      } finally {
        isCancelled = true
      }
    }
    const { summarize } = aiSdkSummarizer({ model: modelOf(endless()) })
    expect(await refusalOf(Promise.resolve(summarize(requestOf())))).toMatchObject({ reason: 'too-large' })
    await vi.waitFor(() => expect(isCancelled).toBe(true))
    expect(given).toBeLessThanOrEqual(65_536)
  })

  it.each<[what: string, code: string, reason: string, parts: StreamPart[]]>([
    ['cut off at the limit of tokens', 'INVALID_PAYLOAD', 'truncated', [...text('half a'), finish('length')]],
    ['nothing but thinking, to the limit', 'INVALID_PAYLOAD', 'truncated', [finish('length')]],
    ['stopped by a filter', 'INVALID_PAYLOAD', 'filtered', [...text('half a'), finish('content-filter')]],
    ['nothing', 'INVALID_PAYLOAD', 'empty', [finish()]],
    ['blank', 'INVALID_PAYLOAD', 'empty', [...text(' \n\u2003', '\r\n'), finish()]],
    ['invisible', 'INVALID_PAYLOAD', 'empty', [...text('\u200b\u2060\n', '\u3164\ufe0f\u00ad'), finish()]],
    ['ended for no known reason', 'INVALID_PAYLOAD', 'broken-off', [...text('half a'), finish('other')]],
    ['ended by an error', 'INVALID_PAYLOAD', 'broken-off', [...text('half a'), finish('error')]],
    ['never finished', 'INVALID_PAYLOAD', 'broken-off', text('half a')],
    ['a call of a tool', 'INVALID_PAYLOAD', 'not-text', [toolCall, finish('tool-calls')]],
    ['text and a call of a tool', 'INVALID_PAYLOAD', 'not-text', [...text('whole'), toolCall, finish()]],
    ['an announced call', 'INVALID_PAYLOAD', 'not-text', [finish('tool-calls')]],
    [
      'a picture',
      'INVALID_PAYLOAD',
      'not-text',
      [{ type: 'file', mediaType: 'image/png', data: 'AAAA' }, finish()],
    ],
    [
      'an error in the middle',
      'INVALID_PAYLOAD',
      'broken-off',
      [...text('half a'), { type: 'error', error: reset }],
    ],
    [
      'an error in the beginning',
      'OUTCOME_UNKNOWN',
      'unavailable',
      [{ type: 'error', error: { message: 'overloaded' } }, finish('error')],
    ],
  ])('that is %s is refused: %s, %s', async (_, code, reason, parts) => {
    const model = modelOf(parts)
    const { summarize } = aiSdkSummarizer({ model, retryDelayMs: 0 })
    expect(await refusalOf(Promise.resolve(summarize(requestOf())))).toMatchObject({
      code,
      reason,
      attempts: 1,
    })
    expect(model.doStreamCalls).toHaveLength(1)
  })

  it('names the reason of the model where it is known', async () => {
    const refused = async (reason: FinishReason) => {
      const { summarize } = aiSdkSummarizer({ model: modelOf([...text('half a'), finish(reason)]) })
      return refusalOf(Promise.resolve(summarize(requestOf())))
    }
    expect(await refused('length')).toMatchObject({ finishReason: 'length' })
    expect(await refused('content-filter')).toMatchObject({ finishReason: 'content-filter' })
  })
})

describe('a failure', () => {
  it.each<[what: string, error: Error]>([
    ['a rate limit', failure(429, at(0))],
    ['a server error', failure(500, at(0))],
    ['an overload', failure(529, at(0))],
    ['a connection that was reset', reset],
  ])('that passes is tried again: %s', async (_, error) => {
    const model = modelOf(error, error, [...text('fine'), finish()])
    const { summarize } = aiSdkSummarizer({ model, retryDelayMs: 0 })
    expect(await summarize(requestOf())).toEqual({ text: 'fine' })
    expect(model.doStreamCalls).toHaveLength(3)
    expect(promptsOf(model)[2]).toEqual(promptsOf(model)[0])
  })

  it.each<[maxRetries: number]>([[0], [2], [5]])('is tried again %i times at most', async (maxRetries) => {
    const model = modelOf(failure(429, at(0)))
    const { summarize } = aiSdkSummarizer({ model, maxRetries })
    expect(await refusalOf(Promise.resolve(summarize(requestOf())))).toEqual({
      code: 'BACK_PRESSURE',
      reason: 'rate-limited',
      attempts: maxRetries + 1,
      statusCode: 429,
      errorName: 'AI_APICallError',
    })
    expect(model.doStreamCalls).toHaveLength(maxRetries + 1)
  })

  it.each<[what: string, code: string, reason: string, error: Error]>([
    ['a wrong key', 'DENIED', 'denied', failure(401)],
    ['a forbidden model', 'DENIED', 'denied', failure(403)],
    ['an unknown model', 'INVALID_PAYLOAD', 'rejected', failure(404)],
    ['a prompt that is too long', 'INVALID_PAYLOAD', 'rejected', failure(413)],
    [
      'a server that wants more rest than there is time',
      'BACK_PRESSURE',
      'rate-limited',
      failure(429, at(30_001)),
    ],
    ['a bug of a provider', 'OUTCOME_UNKNOWN', 'unavailable', new TypeError('sk-secret')],
    [
      'a server error that says that it stays',
      'OUTCOME_UNKNOWN',
      'unavailable',
      Object.assign(failure(500), { isRetryable: false }),
    ],
  ])('that stays is not tried again: %s, %s, %s', async (_, code, reason, error) => {
    const model = modelOf(error)
    const { summarize } = aiSdkSummarizer({ model, retryDelayMs: 0 })
    expect(await refusalOf(Promise.resolve(summarize(requestOf())))).toMatchObject({
      code,
      reason,
      attempts: 1,
    })
    expect(model.doStreamCalls).toHaveLength(1)
  })

  it('of a model that cannot stream names the call and the error, and quotes nothing', async () => {
    const { summarize } = aiSdkSummarizer({
      model: new MockLanguageModelV3({ doGenerate: () => Promise.reject(new Error('never called')) }),
    })
    expect(await refusalOf(Promise.resolve(summarize(requestOf())))).toEqual({
      code: 'OUTCOME_UNKNOWN',
      reason: 'unavailable',
      attempts: 1,
      errorName: 'Error',
      failedIn: 'doStream',
    })
  })

  it('of a stream that was given is no failure of the call that gave it', async () => {
    const model = modelOf([{ type: 'error', error: new TypeError('sk-secret') }])
    const refusal = await refusalOf(Promise.resolve(aiSdkSummarizer({ model }).summarize(requestOf())))
    expect(refusal).toEqual({
      code: 'OUTCOME_UNKNOWN',
      reason: 'unavailable',
      attempts: 1,
      errorName: 'TypeError',
    })
  })

  it.each<[what: string, headers: Record<string, string>, waitMs: number]>([
    ['in seconds', { 'retry-after': '7' }, 7_000],
    ['in milliseconds', { 'retry-after-ms': '1500', 'retry-after': '2' }, 1_500],
    ['as a date', { 'retry-after': 'Thu, 01 Jan 2026 00:00:09 GMT' }, 9_000],
    ['as a date that has passed', { 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }, 0],
    ['in no way that is known', { 'retry-after': 'soon' }, 1_000],
    ['not at all', {}, 1_000],
  ])('waits for what the server says: %s', async (_, headers, waitMs) => {
    vi.useFakeTimers({ now: Date.UTC(2026, 0, 1) })
    try {
      const model = modelOf(failure(429, headers), [...text('fine'), finish()])
      const { summarize } = aiSdkSummarizer({ model })
      const answer = Promise.resolve(summarize(requestOf()))
      await vi.advanceTimersByTimeAsync(Math.max(0, waitMs - 1))
      expect(model.doStreamCalls).toHaveLength(waitMs === 0 ? 2 : 1)
      await vi.advanceTimersByTimeAsync(1)
      expect(await answer).toEqual({ text: 'fine' })
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })

  it('holds nothing of the request, the key, the address or the answer', async () => {
    for (const error of [failure(429, at(60_000)), failure(400), reset, new TypeError('sk-secret')]) {
      const { summarize } = aiSdkSummarizer({ model: modelOf(error), maxRetries: 0 })
      const request = requestOf({ messages: [said('sk-secret of the prompt')] })
      const found = await textOfError(Promise.resolve(summarize(request)))
      expect(found).toContain('there is no summary')
      expect(found).not.toContain('sk-secret')
      expect(found).not.toContain('127.0.0.1')
    }
  })
})

describe('an abort', () => {
  it('before the call asks nobody', async () => {
    const model = modelOf([...text('fine'), finish()])
    const reason = new Error('not wanted')
    const { summarize } = aiSdkSummarizer({ model })
    const answer = Promise.resolve(summarize(requestOf({ signal: AbortSignal.abort(reason) })))
    await expect(answer).rejects.toBe(reason)
    expect(model.doStreamCalls).toHaveLength(0)
  })

  it('ends the call at once, whether or not the model heeds it', async () => {
    const controller = new AbortController()
    const reason = new Error('not wanted')
    const deaf = new MockLanguageModelV3({
      doStream: async () => {
        queueMicrotask(() => controller.abort(reason))
        return {
          stream: new ReadableStream({ start: (each) => each.enqueue({ type: 'text-start', id: 't' }) }),
        }
      },
    })
    const { summarize } = aiSdkSummarizer({ model: deaf })
    await expect(summarize(requestOf({ signal: controller.signal }))).rejects.toBe(reason)
    expect(deaf.doStreamCalls[0]?.abortSignal?.aborted).toBe(true)
  })

  it('wins over an answer that is there already', async () => {
    const controller = new AbortController()
    const reason = new Error('not wanted')
    function* parts(): Generator<StreamPart> {
      yield* text('fine')
      controller.abort(reason)
      yield finish()
    }
    const { summarize } = aiSdkSummarizer({ model: modelOf(parts()) })
    await expect(summarize(requestOf({ signal: controller.signal }))).rejects.toBe(reason)
  })

  it('ends a wait between two attempts, and there is no other', async () => {
    const controller = new AbortController()
    const model = modelOf(failure(429, at(29_000)))
    const { summarize } = aiSdkSummarizer({ model })
    const answer = Promise.resolve(summarize(requestOf({ signal: controller.signal })))
    await vi.waitFor(() => expect(model.doStreamCalls).toHaveLength(1))
    controller.abort(new Error('not wanted'))
    await expect(answer).rejects.toBe(controller.signal.reason)
    expect(model.doStreamCalls).toHaveLength(1)
  })

  it('is not tried again, though the model calls it a connection that was reset', async () => {
    const controller = new AbortController()
    const reason = new Error('not wanted')
    const model = new MockLanguageModelV3({
      doStream: async () => {
        controller.abort(reason)
        throw reset
      },
    })
    const { summarize } = aiSdkSummarizer({ model, retryDelayMs: 0 })
    await expect(summarize(requestOf({ signal: controller.signal }))).rejects.toBe(reason)
    expect(model.doStreamCalls).toHaveLength(1)
  })

  it('leaves no timer and no listener', async () => {
    vi.useFakeTimers()
    try {
      const { signal } = new AbortController()
      const added = vi.spyOn(signal, 'addEventListener')
      const removed = vi.spyOn(signal, 'removeEventListener')
      const { summarize } = aiSdkSummarizer({ model: modelOf([...text('fine'), finish()]) })
      await summarize(requestOf({ signal }))
      expect(vi.getTimerCount()).toBe(0)
      expect(added.mock.calls.map(([type]) => type)).toEqual(['abort'])
      expect(removed.mock.calls.map(([, listener]) => listener)).toEqual(
        added.mock.calls.map(([, listener]) => listener),
      )
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('a model that', () => {
  it('says nothing for too long is stalled, in the beginning and in the middle', async () => {
    for (const parts of [[], text('half').slice(0, 2)]) {
      const silent = new MockLanguageModelV3({
        doStream: async () => ({
          stream: new ReadableStream<StreamPart>({
            start: (each) => parts.forEach((part) => each.enqueue(part)),
          }),
        }),
      })
      const { summarize } = aiSdkSummarizer({ model: silent, stallTimeoutMs: 30 })
      expect(await refusalOf(Promise.resolve(summarize(requestOf())))).toEqual({
        code: 'OUTCOME_UNKNOWN',
        reason: 'stalled',
      })
      expect(silent.doStreamCalls[0]?.abortSignal?.aborted).toBe(true)
    }
  })

  it('never begins is stalled', async () => {
    const model = new MockLanguageModelV3({ doStream: () => new Promise(() => undefined) })
    const { summarize } = aiSdkSummarizer({ model, stallTimeoutMs: 30 })
    expect(await refusalOf(Promise.resolve(summarize(requestOf())))).toMatchObject({ reason: 'stalled' })
  })

  it('goes on and on is timed out, over all attempts', async () => {
    const model = modelOf(failure(500, at(15)))
    const { summarize } = aiSdkSummarizer({ model, maxRetries: 10, timeoutMs: 60 })
    expect(await refusalOf(Promise.resolve(summarize(requestOf())))).toEqual({
      code: 'OUTCOME_UNKNOWN',
      reason: 'timed-out',
    })
    expect(model.doStreamCalls.length).toBeLessThan(11)
  })

  it('streams slowly is waited for as long as it says something', async () => {
    vi.useFakeTimers()
    try {
      const slow = new MockLanguageModelV3({
        doStream: async () => {
          const parts = [...text('a', 'b', 'c', 'd', 'e'), finish()]
          return {
            stream: new ReadableStream<StreamPart>({
              async pull(each) {
                await new Promise((resolve) => setTimeout(resolve, 900))
                const part = parts.shift()
                if (part) each.enqueue(part)
                else each.close()
              },
            }),
          }
        },
      })
      const answer = aiSdkSummarizer({ model: slow, stallTimeoutMs: 1_000 }).summarize(requestOf())
      await vi.advanceTimersByTimeAsync(10_000)
      expect(await answer).toEqual({ text: 'abcde' })
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('the call', () => {
  it('has no tools, one message of the user, and the smallest bound of tokens', async () => {
    const model = modelOf([...text('fine'), finish()])
    const { summarize, name } = aiSdkSummarizer({ model, maxOutputTokens: 800 })
    await summarize(requestOf({ tokensMax: 700 }))
    await summarize(requestOf({ tokensMax: 900 }))
    await summarize(requestOf())
    expect(name).toBe('ai-sdk:mock')
    expect(model.doStreamCalls.map((call) => call.maxOutputTokens)).toEqual([700, 800, 800])
    expect(model.doStreamCalls.map((call) => call.tools)).toEqual([undefined, undefined, undefined])
    expect(promptsOf(model)).toHaveLength(3)
  })

  it.each<[what: string, options: object]>([
    ['no model', {}],
    ['a model that is none', { model: { modelId: 'x' } }],
    ['an empty name of a model', { model: '' }],
    ['an unknown option', { maxTries: 3 }],
    ['too many retries', { maxRetries: 11 }],
    ['an input that can hold nothing', { inputSizeBytesMax: 16_383 }],
    ['a time that is none', { timeoutMs: 0 }],
  ])('is not prepared with %s', (_, options) => {
    const model = 'model' in options || Object.keys(options).length === 0 ? {} : { model: modelOf([]) }
    expect(() => aiSdkSummarizer({ ...model, ...options } as never)).toThrowError(
      expect.objectContaining({ name: 'ZodError' }),
    )
  })

  it('takes the name of a model, which the default provider knows', async () => {
    const model = modelOf([...text('fine'), finish()])
    globalThis.AI_SDK_DEFAULT_PROVIDER = new MockProviderV3({ languageModels: { 'near/by': model } }) as never
    try {
      const summarizer = aiSdkSummarizer({ model: 'near/by' })
      expect(summarizer.name).toBe('ai-sdk:near/by')
      expect(await summarizer.summarize(requestOf())).toEqual({ text: 'fine' })
    } finally {
      globalThis.AI_SDK_DEFAULT_PROVIDER = undefined
    }
  })

  it('takes a model of the version before', async () => {
    const info = vi.spyOn(console, 'info').mockReturnValue()
    const warn = vi.spyOn(console, 'warn').mockReturnValue()
    const model = {
      specificationVersion: 'v2' as const,
      provider: 'old',
      modelId: 'old',
      supportedUrls: {},
      doGenerate: () => Promise.reject(new TypeError('not asked for')),
      doStream: async () => ({
        stream: streamOf([
          ...text('fine'),
          {
            type: 'finish',
            finishReason: 'stop',
            usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
          } as never,
        ]) as never,
      }),
    }
    expect(await aiSdkSummarizer({ model }).summarize(requestOf())).toEqual({ text: 'fine' })
    expect(info.mock.calls.length + warn.mock.calls.length).toBeGreaterThan(0)
  })
})
