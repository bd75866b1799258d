import { renderedMessages, toolParts } from './core.ts'
import type { EventDefinition, RenderedMessage, Replacement } from './definition.ts'
import { SessionError } from './errors.ts'
import type { SessionEvent } from './event.ts'
import { refusal } from './schema.ts'

/**
 * Asks a plugin what its event shows to the model before the event is recorded: afterwards a function that throws, or
 * shows what no model can be given, would spoil the transcript for good.
 */
export function refuseUnshowable(event: SessionEvent, definition: EventDefinition | undefined): void {
  if (definition?.message === undefined) return
  const message = answer(event, () => definition.message?.(event))
  if (message !== undefined) refuseMessages(event, [message])
}

/** @throws SessionError `INVALID_EVENT` unless the range lies before `openSeq` and its messages can be shown. */
export function refuseReplacement(
  event: SessionEvent,
  openSeq: number,
  replaces: () => Replacement | undefined,
): void {
  const replacement = answer(event, replaces)
  if (replacement === undefined) return
  const { from, through, messages } = replacement
  const isRange = Number.isInteger(from) && Number.isInteger(through) && 0 <= from && from <= through
  if (!isRange || through >= openSeq)
    throw refused(event, `it replaces ${from} to ${through}, and was opened at ${openSeq}`)
  refuseMessages(event, messages)
}

/** @throws SessionError `INVALID_EVENT` unless it names an earlier event, and what it shows is a result's. */
export function refuseAmendment(event: SessionEvent, definition: EventDefinition | undefined): void {
  if (definition?.amends === undefined) return
  const amendment = answer(event, () => definition.amends?.(event))
  if (amendment === undefined) return
  const { resultSeq, parts } = amendment
  const isEarlier = Number.isInteger(resultSeq) && 0 <= resultSeq && resultSeq < event.seq
  if (!isEarlier) throw refused(event, `it amends ${resultSeq}, which is no earlier event`)
  const issue = refusal(toolParts, parts)
  if (issue) throw refused(event, `what it shows is no result: ${issue.path} ${issue.reason}`)
}

function refuseMessages(event: SessionEvent, messages: readonly RenderedMessage[]): void {
  const issue = refusal(renderedMessages, messages)
  if (issue) throw refused(event, `what it shows is no message: ${issue.path} ${issue.reason}`)
}

function answer<T>(event: SessionEvent, ask: () => T): T {
  try {
    return ask()
  } catch (cause) {
    throw refused(event, 'what it shows cannot be told', cause)
  }
}

function refused({ type, seq }: SessionEvent, why: string, cause?: unknown): SessionError {
  return new SessionError('INVALID_EVENT', `${type}: ${why}; nothing was recorded`, { type, seq, cause })
}
