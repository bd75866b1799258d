import { decideFit, type BracketFit, type BracketState } from './bracket.ts'
import { reservedTypes, toolCall } from './core.ts'
import { isEvent, type Bracket, type EventDefinition } from './definition.ts'
import { SessionError } from './errors.ts'
import type { SessionEvent } from './event.ts'
import type { Folds } from './folds.ts'
import { assertLossless, type JsonValue } from './json.ts'
import { redacted, type Redact } from './redact.ts'
import { refusal } from './schema.ts'
import { refuseAmendment, refuseReplacement, refuseUnshowable } from './shown.ts'
import { refuseTypeName, type Vocabulary } from './vocabulary.ts'

interface Asked {
  readonly type: string
  readonly data: unknown
  readonly options: { readonly ignorable?: true; readonly time?: number }
}

interface Surroundings {
  readonly vocabulary: Vocabulary
  readonly folds: Folds
  readonly redact: Redact | undefined
  readonly seq: number
}

interface Flags {
  readonly ignorable?: true
  readonly replaces?: true
}

interface Admitted {
  readonly data: JsonValue
  readonly flags: Flags
  /** Whether the finished event may stand where it is to stand. */
  readonly refuseMisplaced: (event: SessionEvent) => void
}

const required: Flags = {}
const carried: Flags = { ignorable: true }
const replacing: Flags = { replaces: true }

/** Decides whether an event may be recorded, and in what form. Changes nothing. */
export function decideAppend({ type, data, options }: Asked, around: Surroundings): Admitted {
  const { vocabulary, redact, seq } = around
  if (typeof type !== 'string')
    throw new SessionError('INVALID_EVENT', `an event type is a string, not ${typeof type}`)
  if (reservedTypes.has(type)) {
    throw new SessionError('RESERVED', `${type} is written by the session itself and by nobody else`, {
      type,
    })
  }
  if (options.time !== undefined && !Number.isFinite(options.time)) {
    throw new SessionError('INVALID_EVENT', `${type}: its time is no number of milliseconds`, { type })
  }
  const definition = vocabulary.event(type)
  const flags = decideFlags(type, definition, options.ignorable)
  assertLossless(data, { type, seq })
  const kept = redact ? redacted(data, redact, { type, ids: definition?.ids }) : data
  const issue = definition && refusal(definition.schema, kept)
  if (issue) {
    const { path, reason } = issue
    const message = `${type}: ${path} ${reason}; nothing was recorded`
    throw new SessionError('INVALID_EVENT', message, { type, seq, path })
  }
  return { data: kept, flags, refuseMisplaced: (event) => refuseMisplaced(event, definition, around) }
}

function decideFlags(
  type: string,
  definition: EventDefinition | undefined,
  ignorable: true | undefined,
): Flags {
  if (definition === undefined) {
    refuseTypeName(type)
    if (ignorable) return carried
    throw new SessionError('UNKNOWN_TYPE', `nobody defines ${type}; define it, or append it as ignorable`, {
      type,
    })
  }
  if (ignorable && !definition.ignorable) {
    throw new SessionError('INVALID_EVENT', `${type} is defined as required, so it cannot be ignorable`, {
      type,
    })
  }
  // No definition is both.
  if (definition.replaces || definition.amends) return replacing
  return definition.ignorable ? carried : required
}

function refuseMisplaced(
  event: SessionEvent,
  definition: EventDefinition | undefined,
  around: Surroundings,
): void {
  const { type } = event
  const { folds, vocabulary } = around
  const brackets = vocabulary.bracketsOf(type)
  if (brackets.length > 0) {
    for (const bracket of vocabulary.governing(type))
      refuseMisfit(event, bracket, folds.bracketState(bracket))
    if (definition?.replaces) refuseReplacements(event, { brackets, definition, folds })
  }
  refuseUnshowable(event, definition)
  refuseAmendment(event, definition)
  if (event.type === 'tool/result') refuseMismatch(event, around)
}

interface Replacing {
  readonly brackets: readonly Bracket[]
  readonly definition: EventDefinition
  readonly folds: Folds
}

function refuseReplacements(event: SessionEvent, { brackets, definition, folds }: Replacing): void {
  for (const bracket of brackets) {
    if (!bracket.close.includes(event.type)) continue
    const opening = folds.bracketState(bracket).live.find(({ key }) => key === bracket.key(event))
    if (opening === undefined) continue
    const { event: open, inside } = opening
    refuseReplacement(event, open.seq, () => definition.replaces?.(open, event, inside))
  }
}

function refuseMisfit(event: SessionEvent, bracket: Bracket, state: BracketState): void {
  const { type } = event
  const fit = fitOf(bracket, state, event)
  switch (fit.kind) {
    case 'fits':
      return
    case 'already-open':
      throw new SessionError(
        'ALREADY_OPEN',
        `${type}: ${bracket.name} is live since seq ${fit.seq}; nothing was recorded`,
        {
          type,
          seq: fit.seq,
        },
      )
    case 'not-open':
      throw new SessionError(
        'NOT_OPEN',
        `${type} closes no ${bracket.name}: ${fit.because}; nothing was recorded`,
        { type },
      )
  }
}

function fitOf(bracket: Bracket, state: BracketState, event: SessionEvent): BracketFit {
  try {
    return decideFit(bracket, state, event)
  } catch (cause) {
    const { type } = event
    throw new SessionError('INVALID_EVENT', `${type}: its key in ${bracket.name} cannot be told`, {
      type,
      cause,
    })
  }
}

function refuseMismatch(event: SessionEvent<'tool/result'>, { folds }: Surroundings): void {
  const { live, orphaned, abandoned } = folds.bracketState(toolCall)
  const { callSeq, callId } = event.data
  for (const { event: call } of [...live, ...orphaned, ...abandoned]) {
    if (call.seq !== callSeq || !isEvent(call, 'tool/call') || call.data.callId === callId) continue
    throw new SessionError('INVALID_EVENT', `tool/result: the call at seq ${callSeq} has another callId`, {
      seq: callSeq,
    })
  }
}
