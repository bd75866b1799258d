import type { Author, TranscriptMessage } from '@tidemark/session-core'

/** Who a summary is by, lowest trust first. No person and no host is among them, whoever wrote what it sums up. */
export const summaryAuthors = ['tool', 'file', 'agent'] as const
export type SummaryAuthor = (typeof summaryAuthors)[number]

/** Of a summary in a log that does not say. */
export const lowestAuthor: SummaryAuthor = summaryAuthors[0]

/**
 * The lowest trust among the sources: a summary speaks for none that is above it. Earlier summaries are by whom they
 * are by, so that nothing rises from one to the next.
 */
export function summaryAuthorOf(messages: readonly TranscriptMessage[]): SummaryAuthor {
  const authors = new Set(messages.flatMap(authorsOf))
  return summaryAuthors.find((author) => authors.has(author)) ?? 'agent'
}

function authorsOf(message: TranscriptMessage): readonly Author[] {
  switch (message.role) {
    case 'user':
      return message.parts.map(({ author }) => author)
    case 'assistant':
      return ['agent']
    case 'tool':
      return ['tool']
  }
}
