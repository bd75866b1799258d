import type { OpenBracket } from './bracket.ts'
import type { Bracket } from './definition.ts'
import type { JsonValue } from './json.ts'
import type { Session } from './session.ts'
import { transcript } from './transcript/transcript.ts'
import type { AnyProjection } from './vocabulary.ts'

/** What a plugin takes along. */
export interface GoingAway {
  /** Those that nobody else defines. */
  readonly brackets: readonly Bracket[]
  /** Those of its brackets, too. */
  readonly projections: readonly AnyProjection[]
}

/**
 * Before definitions go: ends what is live of their brackets in a session, and folds what only they can explain.
 * Nothing that fails here keeps the plugin from going; it is reported, and the next boundary ends what is left.
 */
export function settle(
  session: Session,
  { brackets, projections }: GoingAway,
  report: (error: unknown) => void,
): void {
  for (const bracket of brackets) {
    for (const open of liveOf(session, bracket, report)) settleOne(session, { bracket, open, report })
  }
  try {
    session.read(transcript)
    session.keepStates(projections)
  } catch (error) {
    report(error)
  }
}

function liveOf(
  session: Session,
  bracket: Bracket,
  report: (error: unknown) => void,
): readonly OpenBracket[] {
  try {
    return session.open(bracket).filter(({ status }) => status === 'live')
  } catch (error) {
    report(error)
    return []
  }
}

interface Settling {
  readonly bracket: Bracket
  readonly open: OpenBracket
  readonly report: (error: unknown) => void
}

function settleOne(session: Session, { bracket, open, report }: Settling): void {
  try {
    if (closes(session, bracket, open)) return
  } catch (error) {
    report(error)
  }
  try {
    session.abandon(bracket, open.seq)
  } catch (error) {
    report(error)
  }
}

function closes(session: Session, bracket: Bracket, open: OpenBracket): boolean {
  const closing = bracket.settle?.(open.event)
  if (closing === undefined) return false
  const append = session.append.bind(session) as (type: string, data: JsonValue) => unknown
  append(closing.type, closing.data as JsonValue)
  return !session.open(bracket).some(({ seq, status }) => seq === open.seq && status === 'live')
}
