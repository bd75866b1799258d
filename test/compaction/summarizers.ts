import type { Summarizer, SummaryRequest } from '@tidemark/compaction'

/** A summarizer that answers when the test says so. */
export interface Held {
  readonly summarizer: Summarizer
  readonly requests: SummaryRequest[]
  answer(text: string): void
  fail(error: Error): void
}

export function held(): Held {
  const requests: SummaryRequest[] = []
  const waiting: { resolve: (text: string) => void; reject: (error: Error) => void }[] = []
  return {
    requests,
    summarizer: {
      name: 'held',
      summarize: async (request) => {
        requests.push(request)
        return { text: await new Promise<string>((resolve, reject) => waiting.push({ resolve, reject })) }
      },
    },
    answer: (text) => waiting.shift()?.resolve(text),
    fail: (error) => waiting.shift()?.reject(error),
  }
}

export function saying(text: unknown): Summarizer {
  return { name: 'saying', summarize: async () => ({ text }) as { text: string } }
}

export function doing(summarize: (request: SummaryRequest) => unknown): Summarizer {
  return { name: 'doing', summarize: summarize as Summarizer['summarize'] }
}

export const hanging: Summarizer = { name: 'hanging', summarize: () => new Promise(() => undefined) }
