import { boundaryType } from './boundary.ts'
import { withSpans, type SpannedState } from './bracket-span.ts'
import type { Bracket, BracketKey, Projection } from './definition.ts'
import type { SessionEvent } from './event.ts'

/** One opening that has no close yet. */
export interface OpenBracket {
  readonly bracket: string
  readonly key: BracketKey
  readonly seq: number
  readonly event: SessionEvent
  readonly status: 'live' | 'orphaned'
}

export interface Opening {
  readonly key: BracketKey
  readonly event: SessionEvent
  readonly inside: readonly SessionEvent[]
}

/**
 * What is open of one bracket.
 *
 * 1. `live` holds the openings after the last boundary that nothing has ended, oldest first.
 * 2. `orphaned` holds those that a boundary ended, at most `orphanedMax`, the newest; one whose key is opened again
 *    is dropped.
 * 3. `abandoned` is kept only for brackets that accept a late close, with the same bound.
 */
export interface BracketState {
  readonly live: readonly Opening[]
  readonly orphaned: readonly Opening[]
  readonly abandoned: readonly Opening[]
  /** The seq of the live turn and step, if any. */
  readonly turnSeq: number | undefined
  readonly stepSeq: number | undefined
}

/** How many ended openings of one bracket are remembered. */
export const orphanedMax = 1_024

/** How many events inside one opening are held for the fold of its close. */
export const insideMax = 64

/** The state before the first event. */
export const nothingOpen: BracketState = {
  live: [],
  orphaned: [],
  abandoned: [],
  turnSeq: undefined,
  stepSeq: undefined,
}

export const bracketStatePrefix = 'bracket:'

/** The state of a bracket as a projection; the same for live sessions, stored views and snapshots. */
export function bracketProjection(bracket: Bracket): Projection<SpannedState> {
  const { name, indivisible } = bracket
  return {
    name: `${bracketStatePrefix}${name}`,
    // A state of version 1 has no spans.
    version: indivisible ? 2 : 1,
    init: () => nothingOpen,
    apply: (before, event) => {
      const after = foldBracket(bracket, before, event)
      return indivisible ? withSpans(bracket, { before, after }, event) : after
    },
  }
}

export function foldBracket(bracket: Bracket, state: BracketState, event: SessionEvent): BracketState {
  if (event.type === boundaryType) return orphan(bracket, state)
  let next = state
  if (bracket.close.includes(event.type)) next = close(bracket, next, event)
  if (bracket.inside.includes(event.type)) next = include(bracket, next, event)
  next = abandonBy(bracket, next, event)
  if (event.type === bracket.open) next = open(bracket, next, event)
  return track(next, event)
}

function orphan(bracket: Bracket, state: BracketState): BracketState {
  const orphaned = newest([...state.orphaned, ...state.live])
  return { ...nothingOpen, orphaned, abandoned: bracket.late ? state.abandoned : [] }
}

function close(bracket: Bracket, state: BracketState, event: SessionEvent): BracketState {
  const key = bracket.key(event)
  const others = (opening: Opening): boolean => opening.key !== key
  if (state.live.some((opening) => opening.key === key)) return { ...state, live: state.live.filter(others) }
  if (!bracket.late) return state
  return { ...state, orphaned: state.orphaned.filter(others), abandoned: state.abandoned.filter(others) }
}

function include(bracket: Bracket, state: BracketState, event: SessionEvent): BracketState {
  const key = bracket.key(event)
  const index = state.live.findIndex((opening) => opening.key === key)
  const opening = state.live[index]
  if (opening === undefined || opening.inside.length >= insideMax) return state
  return { ...state, live: state.live.with(index, { ...opening, inside: [...opening.inside, event] }) }
}

/** What the end of an enclosing bracket ends with it. */
function abandonBy(bracket: Bracket, state: BracketState, event: SessionEvent): BracketState {
  if (event.type === 'bracket/abandoned') {
    const { bracket: name, openSeq } = event.data
    return name === bracket.name ? abandon(bracket, state, (seq) => seq === openSeq) : state
  }
  const from = bracket.scope === 'turn' ? endedFrom(state, event.type) : undefined
  return from === undefined ? state : abandon(bracket, state, (seq) => seq >= from)
}

/** The seq from which on everything still open is over, when this event ends a turn or a step. */
function endedFrom(state: BracketState, type: string): number | undefined {
  switch (type) {
    case 'turn/start':
      // A step that was opened outside any turn ends too: a turn is never inside a step.
      return state.turnSeq ?? state.stepSeq
    case 'turn/end':
      return state.turnSeq
    case 'step/start':
    case 'step/end':
      return state.stepSeq
    default:
      return undefined
  }
}

function abandon(bracket: Bracket, state: BracketState, ended: (seq: number) => boolean): BracketState {
  const over = state.live.filter((opening) => ended(opening.event.seq))
  if (over.length === 0) return state
  const live = state.live.filter((opening) => !ended(opening.event.seq))
  return { ...state, live, abandoned: bracket.late ? newest([...state.abandoned, ...over]) : state.abandoned }
}

function open(bracket: Bracket, state: BracketState, event: SessionEvent): BracketState {
  const key = bracket.key(event)
  const others = (opening: Opening): boolean => opening.key !== key
  const live = [...state.live.filter(others), { key, event, inside: [] }]
  return { ...state, live, orphaned: state.orphaned.filter(others) }
}

function track(state: BracketState, event: SessionEvent): BracketState {
  switch (event.type) {
    case 'turn/start':
      return { ...state, turnSeq: event.seq, stepSeq: undefined }
    case 'turn/end':
      // In history it may end no turn, and then it ends no step either.
      return state.turnSeq === undefined ? state : { ...state, turnSeq: undefined, stepSeq: undefined }
    case 'step/start':
      return { ...state, stepSeq: event.seq }
    case 'step/end':
      return { ...state, stepSeq: undefined }
    default:
      return state
  }
}

function newest(openings: readonly Opening[]): readonly Opening[] {
  return openings.length > orphanedMax ? openings.slice(-orphanedMax) : openings
}

/** The open brackets as callers see them, live ones last. */
export function openBrackets(bracket: Bracket, state: BracketState): readonly OpenBracket[] {
  const seen = (status: OpenBracket['status']) => (opening: Opening) => ({
    bracket: bracket.name,
    key: opening.key,
    seq: opening.event.seq,
    event: opening.event,
    status,
  })
  return [...state.orphaned.map(seen('orphaned')), ...state.live.map(seen('live'))]
}

/** What an append of this type meets. `fits`: nothing stands against it. */
export type BracketFit =
  { kind: 'fits' } | { kind: 'already-open'; seq: number } | { kind: 'not-open'; because: string }

/** Decides whether an event may open or close a bracket now. Turns and steps end their predecessor instead. */
export function decideFit(bracket: Bracket, state: BracketState, event: SessionEvent): BracketFit {
  const key = bracket.key(event)
  const has = (openings: readonly Opening[]): Opening | undefined =>
    openings.find((opening) => opening.key === key)
  if (event.type === bracket.open) {
    const live = has(state.live)
    const supersedes = bracket.open === 'turn/start' || bracket.open === 'step/start'
    return live === undefined || supersedes ? { kind: 'fits' } : { kind: 'already-open', seq: live.event.seq }
  }
  if (!bracket.close.includes(event.type) || has(state.live)) return { kind: 'fits' }
  const orphaned = has(state.orphaned)
  if (bracket.late && (orphaned ?? has(state.abandoned))) return { kind: 'fits' }
  return {
    kind: 'not-open',
    because: orphaned ? `its opening at seq ${orphaned.event.seq} is orphaned` : 'nothing live has its key',
  }
}
