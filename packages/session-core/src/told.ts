import type { Bracket, EventDefinition, Projection } from './definition.ts'
import type { Vocabulary } from './vocabulary.ts'

type Kind = 'event' | 'shows' | 'bracket' | 'brackets' | 'replacing'

/**
 * What a state was told by the vocabulary while it was folded: every question, and what can be compared of the answer.
 * Not what a function does, but that there is one. With the same answers a fold of all events gives the same state.
 */
export type Told = ReadonlyMap<string, readonly string[]>

/** The same as plain data. */
export type ToldData = Readonly<Record<string, readonly string[]>>

/** In an answer that was not the same all the while. No vocabulary gives it, so that no other fold takes the state. */
const changed = '(changed)'

/** The vocabulary, as one stretch of a fold asks it. It remembers what it was told. */
export class Asking {
  private own: Map<string, readonly string[]> | undefined
  private readonly asked = new Map<Kind, Set<string>>()

  constructor(
    private readonly vocabulary: Vocabulary,
    private readonly before?: Told,
    private readonly asks?: Projection<unknown>['asks'],
  ) {}

  /** `undefined` when nothing was ever asked. */
  get told(): Told | undefined {
    return this.own ?? this.before
  }

  event(type: string): EventDefinition | undefined {
    this.note(this.asks === 'shown' ? 'shows' : 'event', type)
    return this.vocabulary.event(type)
  }

  bracket(name: string): Bracket | undefined {
    this.note('bracket', name)
    return this.vocabulary.bracket(name)
  }

  brackets(type: string): readonly Bracket[] {
    this.note(this.asks === 'shown' ? 'replacing' : 'brackets', type)
    return this.vocabulary.bracketsOf(type)
  }

  /** The vocabulary does not change in one stretch, so a question counts once. */
  private note(kind: Kind, name: string): void {
    const names = this.asked.get(kind) ?? new Set()
    if (names.has(name)) return
    this.asked.set(kind, names.add(name))
    const question = `${kind} ${name}`
    const answer = answerTo(question, this.vocabulary)
    const known = this.told?.get(question)
    const now = known === undefined || isSame(known, answer) ? answer : [...answer, changed]
    if (known !== undefined && isSame(known, now)) return
    this.own ??= new Map(this.before)
    this.own.set(question, now)
  }
}

/** Whether the vocabulary would tell the same: then the state is what a fold of all events gives. */
export function isToldStill(told: Told | undefined, vocabulary: Vocabulary): boolean {
  return [...(told ?? [])].every(([question, answer]) => isSame(answer, answerTo(question, vocabulary)))
}

/** Whether the vocabulary would tell more. What it does not tell any more, a living state keeps. */
export function isOutdone(told: Told, vocabulary: Vocabulary): boolean {
  return [...told].some(([question, answer]) =>
    answerTo(question, vocabulary).some((each) => !answer.includes(each)),
  )
}

function answerTo(question: string, vocabulary: Vocabulary): readonly string[] {
  const at = question.indexOf(' ')
  const name = question.slice(at + 1)
  switch (question.slice(0, at) as Kind) {
    case 'event':
      return fieldsOf(vocabulary.event(name))
    case 'shows':
      return shownBy(vocabulary.event(name))
    case 'bracket':
      return [vocabulary.bracket(name)].flatMap((bracket) => (bracket ? [shapeOf(bracket)] : []))
    case 'brackets':
      return vocabulary.bracketsOf(name).map(shapeOf).sort()
    case 'replacing':
      return replacingOf(name, vocabulary).map(shapeOf).sort()
    default:
      return [changed] // a question of another version
  }
}

const fields = ['amends', 'begins', 'ids', 'ignorable', 'message', 'replaces', 'schema', 'upcast'] as const
const showing = ['amends', 'message', 'replaces'] as const

function fieldsOf(definition: EventDefinition | undefined): readonly string[] {
  return fields.filter((field) => definition?.[field] !== undefined)
}

/** An upcast changes what is shown, where something is. */
function shownBy(definition: EventDefinition | undefined): readonly string[] {
  const shown: string[] = showing.filter((field) => definition?.[field] !== undefined)
  return shown.length > 0 && definition?.upcast ? [...shown, 'upcast'] : shown
}

function shapeOf({ name, open, close, inside, scope, late, indivisible }: Bracket): string {
  return JSON.stringify([name, open, close, inside, scope, late, ...(indivisible ? ['indivisible'] : [])])
}

function replacingOf(type: string, vocabulary: Vocabulary): readonly Bracket[] {
  const mayReplace = ({ close }: Bracket): boolean =>
    close.some((each) => vocabulary.event(each)?.replaces !== undefined)
  return vocabulary.bracketsOf(type).filter((bracket) => bracket.open === type && mayReplace(bracket))
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((each, index) => each === other[index])
}
