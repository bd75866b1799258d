import { defineProjection, isEvent, type Projection, type SessionEvent } from '@tidemark/session-core'
import { digestOf } from './digest.ts'
import type { FactPinned } from './event.ts'
import { FactsEdit, noFacts } from './facts-edit.ts'
import { labelledLines, labelsDefault } from './label.ts'

/** A fact in force. `seq` is that of the event that made it one. */
export interface PinnedFact extends FactPinned {
  readonly seq: number
  /** A labelled line in a person's message, or the API. */
  readonly from: 'label' | 'pin'
}

/**
 * Why what was meant as a fact is not in force, or not as it was meant.
 *
 * - `unfit-key`: what stands in brackets cannot be a key, since it is blank, too long, or holds what is not seen, other
 *   than joiners. The line is in force under a key made of it, and takes the place of none; where no colon follows
 *   the brackets, it is not in force.
 * - `unclosed-code`: it stands in a fence that nothing closed, so it may be code or not; it is not in force.
 * - `quoted`: it goes on with the paragraph of a quotation, or stands in code within a paragraph, between two tags or
 *   three quotation marks, or in a comment; it is not in force. `unclosed-quote`: of these, what has no end.
 * - `empty`: a label with nothing to be seen after it; `malformed`: half a surrogate pair, which nobody could show as it is.
 * - `too-many`, `too-large`: more than the projection holds.
 * - `over-bound`: in force, and beyond what the host allows, so that no compaction is begun until there is less.
 */
export type FactProblemReason =
  | 'unfit-key'
  | 'unclosed-code'
  | 'quoted'
  | 'unclosed-quote'
  | 'empty'
  | 'malformed'
  | 'too-many'
  | 'too-large'
  | 'over-bound'

export interface FactProblem {
  readonly seq: number
  /** Its beginning. */
  readonly line: string
  readonly reason: FactProblemReason
}

export interface FactsState {
  /** Those in force, oldest first. A later one of a key takes the place of an earlier one, whichever way they came. */
  readonly facts: readonly PinnedFact[]
  /** Keys and texts, in UTF-8 bytes. */
  readonly sizeBytes: number
  /** The newest 32, oldest first. */
  readonly problems: readonly FactProblem[]
  /** How many there were before those. */
  readonly unlistedCount: number
}

const version = 6
const defaultName = 'facts'
const byName = new Map<string, Projection<FactsState>>()

/** The facts with the default labels. */
export const facts: Projection<FactsState> = factsWith(labelsDefault)

/**
 * The facts where these labels pin a line. Other labels give other facts, so their state has another name; the same
 * labels give the same projection, so that a plugin which is loaded again goes on with what was folded.
 */
export function factsWith(labels: readonly string[]): Projection<FactsState> {
  const distinct = [...new Set(labels)].sort()
  const name = nameFor(distinct)
  const known = byName.get(name)
  if (known) return known
  const made = defineProjection<FactsState>({
    name,
    version,
    init: () => noFacts,
    apply: (state, event) => fold(state, event, distinct),
  })
  byName.set(name, made)
  return made
}

function nameFor(distinct: readonly string[]): string {
  const written = JSON.stringify(distinct)
  const isDefault = written === JSON.stringify([...labelsDefault].sort())
  return isDefault ? defaultName : `${defaultName}-${digestOf(written).slice(0, 8)}`
}

function fold(state: FactsState, event: SessionEvent, labels: readonly string[]): FactsState {
  if (isEvent(event, 'user/message')) return foldMessage(state, event, labels)
  if (isEvent(event, 'fact/pinned')) {
    const edit = new FactsEdit(state)
    edit.add({ ...event.data, seq: event.seq, from: 'pin' })
    return edit.state
  }
  if (!isEvent(event, 'fact/unpinned')) return state
  const edit = new FactsEdit(state)
  edit.remove(event.data.key)
  return edit.state
}

/** Only a person's own words pin: not those of a parent agent, and not what a file holds. */
function foldMessage(
  state: FactsState,
  { seq, data }: SessionEvent<'user/message'>,
  labels: readonly string[],
): FactsState {
  let edit: FactsEdit | undefined
  for (const part of data.parts) {
    if (part.type !== 'text' || part.author !== 'human') continue
    for (const line of labelledLines(part.text, labels)) {
      edit ??= new FactsEdit(state)
      if (line.kind === 'problem') edit.report({ seq, line: line.text, reason: line.reason })
      else edit.add(labelled(line, seq))
      if (line.kind === 'fact' && line.hasUnfitKey) edit.report({ seq, line: line.text, reason: 'unfit-key' })
    }
  }
  return edit?.state ?? state
}

function labelled({ key, text }: { readonly key?: string; readonly text: string }, seq: number): PinnedFact {
  const digest = digestOf(text)
  return {
    key: key ?? `line-${digest.slice(0, 16)}`,
    text,
    digest,
    sourceSeq: seq,
    by: 'human',
    seq,
    from: 'label',
  }
}
