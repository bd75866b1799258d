import { gateway, type LanguageModel } from 'ai'
import type { Stop } from './stop.ts'

type Model = Exclude<LanguageModel, string>
type StreamPart = object & { readonly type: string }

/** Thinking, which is read past, included. */
const receivedSizeBytesMax = 4_194_304
const partCountMax = 65_536

/**
 * The model, with what it streams counted, and cut off at the stop whether or not the model heeds the signal. The
 * SDK takes in a stream as fast as it comes, and goes on with one that does not end by itself. `onStream` is told that
 * the model gave one.
 */
export function withIntake(model: LanguageModel, stop: Stop, onStream: () => void): LanguageModel {
  const inner: Model =
    typeof model === 'string' ? (globalThis.AI_SDK_DEFAULT_PROVIDER ?? gateway).languageModel(model) : model
  return {
    specificationVersion: inner.specificationVersion,
    provider: inner.provider,
    modelId: inner.modelId,
    supportedUrls: inner.supportedUrls,
    doGenerate: (options: never) => inner.doGenerate(options),
    doStream: async (options: never) => {
      const result = await inner.doStream(options)
      onStream()
      return { ...result, stream: intakeOf(result.stream, stop) }
    },
  } as Model
}

function intakeOf(source: ReadableStream<StreamPart>, stop: Stop): ReadableStream<StreamPart> {
  const reader = source.getReader()
  let sizeBytes = 0
  let partCount = 0
  const cancel = (reason?: unknown) => {
    // What a source says to that helps nobody any more.
    reader.cancel(reason).then(undefined, () => undefined)
  }
  return new ReadableStream<StreamPart>(
    {
      start(controller) {
        stop.onStop(() => {
          cancel()
          controller.error(stop.signal.reason)
        })
      },
      async pull(controller) {
        const { done, value } = await reader.read()
        if (stop.signal.aborted) return
        if (done) return controller.close()
        stop.listen()
        partCount += 1
        sizeBytes += sizeBytesOf(value)
        if (partCount > partCountMax || sizeBytes > receivedSizeBytesMax) return stop.stop('too-large')
        controller.enqueue(value)
      },
      cancel,
    },
    { highWaterMark: 0 },
  )
}

/** Whatever a part may hold: text, fragments of a call, a file. */
function sizeBytesOf(part: StreamPart): number {
  return Object.values(part).reduce<number>((sum, value: unknown) => {
    if (typeof value === 'string') return sum + Buffer.byteLength(value)
    return value instanceof Uint8Array ? sum + value.byteLength : sum
  }, 0)
}
