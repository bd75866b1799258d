import type { SummaryRequest } from '@tidemark/compaction'
import { isSessionError, type TranscriptMessage, type UserPart } from '@tidemark/session-core'

export function said(text: string, author: UserPart['author'] = 'human'): TranscriptMessage {
  return { role: 'user', seq: 0, parts: [{ type: 'text', text, author }] }
}

export function answered(text: string): TranscriptMessage {
  return { role: 'assistant', seq: 1, parts: [{ type: 'text', text }] }
}

export function requestOf(change: Partial<SummaryRequest> = {}): SummaryRequest {
  return {
    messages: [said('Where is the tide table?'), answered('In docs/tides.md.')],
    signal: new AbortController().signal,
    sizeBytesMax: 1_024,
    ...change,
  }
}

/** What a refusal says: its code, and the details that are API. */
export async function refusalOf(work: PromiseLike<unknown>): Promise<unknown> {
  try {
    return { answered: await work }
  } catch (error) {
    if (!isSessionError(error)) throw error
    return { code: error.code, ...error.details }
  }
}

/** All that an error holds, as text: nothing in it may be a secret. */
export async function textOfError(work: PromiseLike<unknown>): Promise<string> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  const names = Object.getOwnPropertyNames(error)
  return JSON.stringify(names.map((name) => [name, (error as Record<string, unknown>)[name]]))
}
