import { SessionError, isSessionError } from './errors.ts'
import { refusal } from './schema.ts'
import type { SessionView } from './view.ts'
import type { Vocabulary } from './vocabulary.ts'

/**
 * Where a session comes from: the whole of the one that it was made of, wherever it was cut; `unreadable` where there
 * is one and not all of it could be read; `undefined` where there is none.
 */
export type SessionSource = SessionView | 'unreadable' | undefined

/** An event that a session begins with. */
export interface Beginning {
  readonly type: string
  readonly data: unknown
  readonly ignorable?: true
}

/**
 * What the vocabulary wants a session to begin with.
 * @throws SessionError `INVALID_EVENT` when a definition throws what is none, or gives what its own schema refuses.
 */
export function beginningsOf(
  heir: SessionView,
  source: SessionSource,
  vocabulary: Vocabulary,
): readonly Beginning[] {
  const found: Beginning[] = []
  for (const [type, { begins, schema, ignorable }] of vocabulary.beginning) {
    const data = toldBy(type, () => begins(heir, source))
    if (data === undefined) continue
    const issue = refusal(schema, data)
    if (issue) throw failed(type, `gives what its schema refuses: ${issue.path} ${issue.reason}`)
    found.push({ type, data, ...(ignorable && { ignorable }) })
  }
  return found
}

/** Whether a fork holds nothing but what it inherited: what it was to begin with was never recorded. */
export function isUnbegun({ header, log }: Pick<SessionView, 'header' | 'log'>): boolean {
  return header.parent !== undefined && log.length === header.parent.seq + 1
}

function toldBy(type: string, begins: () => unknown): unknown {
  try {
    return begins()
  } catch (cause) {
    if (isSessionError(cause)) throw cause // it says more exactly why there is to be no session
    throw failed(type, 'its `begins` threw', cause)
  }
}

function failed(type: string, what: string, cause?: unknown): SessionError {
  return new SessionError('INVALID_EVENT', `${type}: ${what}; nothing was created`, { type, cause })
}
