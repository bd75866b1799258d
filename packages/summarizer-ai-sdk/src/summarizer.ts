import type { Summarizer } from '@tidemark/compaction'
import { ask } from './asking.ts'
import { Options, type AiSdkSummarizerOptions } from './options.ts'
import { promptOf } from './prompt/prompt.ts'

/**
 * A summarizer over any model of the AI SDK.
 *
 * `summarize` rejects with a SessionError whose `details.reason` says why there is no summary, and with the reason
 * of the request's signal once that is aborted. It throws a ZodError for options that cannot be.
 */
export function aiSdkSummarizer(options: AiSdkSummarizerOptions): Summarizer {
  const settings = Options.parse(options)
  const { model } = settings
  const { name = `ai-sdk:${typeof model === 'string' ? model : model.modelId}` } = settings
  return Object.freeze({
    name,
    summarize: async (request) => {
      request.signal.throwIfAborted()
      const prompt = promptOf(request, settings)
      return { text: await ask({ name, prompt, request, settings }) }
    },
  } satisfies Summarizer)
}
