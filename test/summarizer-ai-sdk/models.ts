import { MockLanguageModelV3 } from 'ai/test'

type Calls = MockLanguageModelV3['doStreamCalls']
type Streamed = Awaited<ReturnType<MockLanguageModelV3['doStream']>>['stream']
export type StreamPart = Streamed extends ReadableStream<infer T> ? T : never
export type FinishReason = Extract<StreamPart, { type: 'finish' }>['finishReason']['unified']
export type CallOptions = Calls[number]

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}

export function text(...deltas: readonly string[]): StreamPart[] {
  return [
    { type: 'text-start', id: 't' },
    ...deltas.map((delta): StreamPart => ({ type: 'text-delta', id: 't', delta })),
    { type: 'text-end', id: 't' },
  ]
}

export function finish(unified: FinishReason = 'stop'): StreamPart {
  return { type: 'finish', finishReason: { unified, raw: undefined }, usage }
}

/** A stream that gives these parts when it is asked for them. */
export function streamOf(parts: Iterable<StreamPart>): Streamed {
  const iterator = parts[Symbol.iterator]()
  return new ReadableStream<StreamPart>(
    {
      pull(controller) {
        const { done, value } = iterator.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: () => void iterator.return?.(),
    },
    { highWaterMark: 0 },
  )
}

/** Answers each call with the next of the streams or errors, and the last one again. */
export function modelOf(...answers: readonly (Iterable<StreamPart> | Error)[]): MockLanguageModelV3 {
  let count = 0
  return new MockLanguageModelV3({
    modelId: 'mock',
    doStream: async () => {
      const answer = answers[Math.min(count++, answers.length - 1)]!
      if (answer instanceof Error) throw answer
      return { stream: streamOf(answer) }
    },
  })
}

/** The texts that the model was given: of the system, and of the user. */
export function promptsOf(model: MockLanguageModelV3): { system: string; user: string }[] {
  return model.doStreamCalls.map(({ prompt }) => {
    const [system, user, ...more] = prompt
    if (system?.role !== 'system' || user?.role !== 'user' || more.length > 0)
      throw new TypeError('other roles')
    const [part, ...others] = user.content
    if (part?.type !== 'text' || others.length > 0) throw new TypeError('other parts')
    return { system: system.content, user: part.text }
  })
}
