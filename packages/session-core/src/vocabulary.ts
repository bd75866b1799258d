import { bracketProjection, bracketStatePrefix } from './bracket.ts'
import { refuseMisdeclared, type SpannedState } from './bracket-span.ts'
import { beginningsOf, type Beginning, type SessionSource } from './beginning.ts'
import { coreDefinitions } from './core.ts'
import type { Bracket, Definitions, EventDefinition, Projection } from './definition.ts'
import { toldIn } from './fold.ts'
import { SessionError } from './errors.ts'
import { lastBoundary } from './last-boundary.ts'
import type { SessionSnapshot } from './snapshot.ts'
import { isToldStill } from './told.ts'
import type { SessionView } from './view.ts'
import { transcript } from './transcript/transcript.ts'
import type { JsonValue } from './json.ts'
import { OwnedNames } from './owned.ts'
import type { GoingAway } from './settle.ts'

const typePattern = /^[\w.-]+(\/[\w.-]+)+$/
const typeLengthMax = 128

// A projection is used with its own state type only, which the table cannot say.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type AnyProjection = Projection<any>

/** A type that sessions may begin with. */
export type BeginningDefinition = EventDefinition & Required<Pick<EventDefinition, 'begins'>>

const coreProjections: readonly AnyProjection[] = [transcript, lastBoundary]

/**
 * Which event types, brackets and projections exist at this moment.
 *
 * 1. A name belongs to one owner, who may hold it several times; the newest instance counts.
 * 2. Core's own names are always there.
 */
export class Vocabulary {
  private readonly events = new OwnedNames<EventDefinition>('event type')
  private readonly brackets = new OwnedNames<Bracket>('bracket')
  private readonly projections = new OwnedNames<AnyProjection>('projection')
  private byType = new Map<string, readonly Bracket[]>()
  private begun: readonly (readonly [string, BeginningDefinition])[] = []
  /** Grows with each addition. */
  private additions = 0
  /** Of each type, the addition that last said something of it. */
  private readonly explainedAt = new Map<string, number>()
  private readonly states = new WeakMap<Bracket, Projection<SpannedState>>()

  constructor() {
    this.add({ ...coreDefinitions, projections: coreProjections })
  }

  event(type: string): EventDefinition | undefined {
    return this.events.find(type)
  }

  bracket(name: string): Bracket | undefined {
    return this.brackets.find(name)
  }

  /** The types that a session may begin with. */
  get beginning(): readonly (readonly [string, BeginningDefinition])[] {
    return this.begun
  }

  /** For storages, which make sessions without opening them. @throws SessionError `INVALID_EVENT`. */
  beginningsOf(heir: SessionView, source: SessionSource): readonly Beginning[] {
    return beginningsOf(heir, source, this)
  }

  /** The brackets that a type opens, closes or belongs to. */
  bracketsOf(type: string): readonly Bracket[] {
    return this.byType.get(type) ?? []
  }

  /**
   * The brackets that decide whether an event of a type may stand where it is: those of the type's own owner. A
   * bracket on somebody else's type follows along; it cannot keep turns from ending.
   */
  governing(type: string): readonly Bracket[] {
    const owner = this.events.ownerOf(type)
    return this.bracketsOf(type).filter(({ name }) => this.brackets.ownerOf(name) === owner)
  }

  /** Every projection there is now, those of brackets included. */
  *allProjections(): Generator<AnyProjection> {
    yield* this.projections.newest()
    for (const bracket of this.brackets.newest()) yield this.projectionOf(bracket)
  }

  /** Whether a session can start from a snapshot: it holds what core needs, as it would be folded now. */
  accepts({ seq, projections }: SessionSnapshot): boolean {
    const brackets = (coreDefinitions.brackets ?? []).map((bracket) => this.projectionOf(bracket))
    return [...coreProjections, ...brackets].every(({ name, version }) => {
      const found = projections.get(name)
      return found?.version === version && found.seq === seq && isToldStill(toldIn(found), this)
    })
  }

  projectionOf(bracket: Bracket): Projection<SpannedState> {
    const known = this.states.get(bracket) ?? bracketProjection(bracket)
    this.states.set(bracket, known)
    return known
  }

  /** How many additions there were: the age of what is derived with this vocabulary. */
  get age(): number {
    return this.additions
  }

  /**
   * `some`: one of these types was explained after `age`, so what was derived from them then is not what would be
   * derived now. `withheld`: so it is, but another of them has lost its explanation, and less would be derived now.
   */
  newsSince(age: number, types: readonly string[]): 'none' | 'some' | 'withheld' {
    if (!types.some((type) => (this.explainedAt.get(type) ?? 0) > age)) return 'none'
    return types.some((type) => this.explainedAt.has(type) && !this.events.has(type)) ? 'withheld' : 'some'
  }

  /**
   * Adds a plugin's share; all of it or nothing. `goingAway` is what goes with `remove`.
   */
  add(definitions: Definitions): { goingAway: () => GoingAway; remove: () => void } {
    this.refuseForeign(definitions)
    const { owner, events = {}, brackets = [], projections = [] } = definitions
    const undo = [
      ...Object.keys(events).map((type) => this.events.hold(type, owner, events[type] as EventDefinition)),
      ...brackets.map((bracket) => this.brackets.hold(bracket.name, owner, bracket)),
      ...projections.map((projection) => this.projections.hold(projection.name, owner, projection)),
    ]
    this.index()
    this.additions += 1
    const explained = [...Object.keys(events), ...brackets.flatMap(typesOf)]
    for (const type of explained) this.explainedAt.set(type, this.additions)
    const goingAway = (): GoingAway => ({
      brackets: brackets.filter(({ name }) => this.brackets.count(name) === 1),
      projections: [...projections, ...brackets.map((each) => this.projectionOf(each))],
    })
    const remove = (): void => {
      for (const undoOne of undo.reverse()) undoOne()
      this.index()
    }
    return { goingAway, remove }
  }

  /**
   * History may hold any type that is known, ignorable, or named in `carry`; one that replaces is never carried.
   * @throws SessionError `UNKNOWN_TYPE` naming the type and the seq of its first use.
   */
  refuseUnknown(
    event: { seq: number; type: string; ignorable?: true; replaces?: true },
    carry: ReadonlySet<string>,
  ): void {
    const { type, seq } = event
    if (this.events.has(type)) return
    if (event.replaces !== true && (event.ignorable === true || carry.has(type))) return
    const how = event.replaces
      ? 'it replaces earlier events and cannot be carried'
      : 'load its plugin, or carry it'
    throw new SessionError(
      'UNKNOWN_TYPE',
      `seq ${seq}: nobody here defines ${type}; ${how}; the log is intact`,
      { seq, type },
    )
  }

  upcast(type: string, data: JsonValue): JsonValue {
    return this.event(type)?.upcast?.(data) ?? data
  }

  hasUpcast(types: Iterable<string>): boolean {
    for (const type of types) if (this.event(type)?.upcast) return true
    return false
  }

  private refuseForeign({ owner, events = {}, brackets = [], projections = [] }: Definitions): void {
    for (const type of Object.keys(events)) {
      this.events.refuseForeign(type, owner)
      refuseMalformed(type, events[type] as EventDefinition)
    }
    for (const { name } of brackets) this.brackets.refuseForeign(name, owner)
    for (const { name } of projections) {
      this.projections.refuseForeign(name, owner)
      refuseStateOfBracket(name)
    }
    for (const bracket of brackets) this.refuseUndefined(bracket, events)
  }

  private refuseUndefined(bracket: Bracket, events: Readonly<Record<string, EventDefinition>>): void {
    refuseMisdeclared(bracket)
    for (const type of typesOf(bracket)) {
      if (Object.hasOwn(events, type) || this.events.has(type)) continue
      throw new SessionError('UNKNOWN_TYPE', `bracket ${bracket.name} uses ${type}, which nobody defines`, {
        type,
      })
    }
  }

  private index(): void {
    const byType = new Map<string, Bracket[]>()
    for (const bracket of this.brackets.newest()) {
      for (const type of new Set(typesOf(bracket))) {
        byType.set(type, [...(byType.get(type) ?? []), bracket])
      }
    }
    this.byType = byType
    this.begun = [...this.events.entries()].filter(isBeginning)
  }
}

/** A snapshot holds states by name, those of brackets too. */
function refuseStateOfBracket(name: string): void {
  if (!name.startsWith(bracketStatePrefix)) return
  const message = `projection ${name}: names that start with ${bracketStatePrefix} are those of brackets`
  throw new SessionError('OWNED', message, { owner: coreDefinitions.owner })
}

function isBeginning(entry: readonly [string, EventDefinition]): entry is [string, BeginningDefinition] {
  return entry[1].begins !== undefined
}

function typesOf(bracket: Bracket): readonly string[] {
  return [bracket.open, ...bracket.close, ...bracket.inside]
}

/** @throws SessionError `INVALID_EVENT` unless it is a name that an event type can have. */
export function refuseTypeName(type: string): void {
  if (type.length <= typeLengthMax && typePattern.test(type)) return
  throw new SessionError(
    'INVALID_EVENT',
    `an event type reads like "owner/what", with at most ${typeLengthMax} characters`,
  )
}

function refuseMalformed(type: string, definition: EventDefinition): void {
  refuseTypeName(type)
  const { schema } = definition as Partial<EventDefinition>
  if (typeof schema?.['~standard']?.validate !== 'function') {
    throw new SessionError('INVALID_EVENT', `${type}: its schema is no Standard Schema, such as zod makes`, {
      type,
    })
  }
  if ((definition.replaces ?? definition.amends) && (definition.ignorable ?? definition.begins)) {
    throw new SessionError(
      'INVALID_EVENT',
      `${type} changes what is shown of earlier events, so it is not ignorable, and no session begins with it`,
      {
        type,
      },
    )
  }
}
