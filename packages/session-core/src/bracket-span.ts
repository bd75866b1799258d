import type { BracketState } from './bracket.ts'
import type { Bracket } from './definition.ts'
import { SessionError } from './errors.ts'
import type { SessionEvent } from './event.ts'

/** From the opening of a bracket to its close, both inclusive. */
export interface BracketSpan {
  readonly seq: number
  readonly through: number
}

/** How many spans of one bracket are told apart; beyond, the two oldest become one. */
const spansMax = 1_024

/**
 * The state of an indivisible bracket: also where those stood that were closed, in the order of their openings. What
 * was orphaned or abandoned leaves no span.
 */
export interface SpannedState extends BracketState {
  readonly spans?: readonly BracketSpan[]
}

/** Adds to `after` what an event closed; `before` is the state that it met. */
export function withSpans(
  bracket: Bracket,
  { before, after }: { readonly before: SpannedState; readonly after: BracketState },
  event: SessionEvent,
): SpannedState {
  const { spans = [] } = before
  const closed = bracket.close.includes(event.type) ? closedBy(bracket, before, event) : undefined
  if (closed !== undefined) return { ...after, spans: added(spans, { seq: closed, through: event.seq }) }
  return after === before ? before : { ...after, spans }
}

function closedBy(bracket: Bracket, { live }: BracketState, event: SessionEvent): number | undefined {
  const key = bracket.key(event)
  return live.find((opening) => opening.key === key)?.event.seq
}

function added(spans: readonly BracketSpan[], span: BracketSpan): readonly BracketSpan[] {
  const all = spans.toSpliced(spans.findLastIndex(({ seq }) => seq < span.seq) + 1, 0, span)
  const [first, second, ...rest] = all
  if (all.length <= spansMax || first === undefined || second === undefined) return all
  return [{ seq: first.seq, through: Math.max(first.through, second.through) }, ...rest]
}

/** @throws SessionError `INVALID_EVENT`: what is meant to hold must not be left out by mistake. */
export function refuseMisdeclared({ name, indivisible }: Bracket): void {
  if (indivisible === undefined || (indivisible as unknown) === true) return
  throw new SessionError('INVALID_EVENT', `bracket ${name}: indivisible is true, or it is left out`)
}
