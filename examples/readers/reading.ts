import type { JsonObject, JsonValue } from '@tidemark/session-core'
import type { ReadableKind } from './format.ts'
import { isRecord, type RecordLine } from './lines.ts'
import type { At } from './outline.ts'
import type { Step } from './step.ts'

/** What a file holds. */
export interface Reading {
  readonly format: ReadableKind
  /** Lines that hold a record. */
  readonly recordCount: number
  readonly steps: readonly Step[]
  /** What was passed over, by kind, and how often: bookkeeping of the host that no model ever saw. */
  readonly skipped: ReadonlyMap<string, number>
}

/** Counts what a reader passes over. */
export class Tally {
  readonly counts = new Map<string, number>()

  add(kind: string, count = 1): void {
    if (count > 0) this.counts.set(kind, (this.counts.get(kind) ?? 0) + count)
  }
}

/**
 * Notices records that are told again: the same id with the same bytes. A line without an id is never
 * dropped, since equal lines may both be meant.
 */
export class Repeats {
  private readonly texts = new Map<string, string>()

  isRepeat(id: JsonValue | undefined, text: string): boolean {
    if (typeof id !== 'string') return false
    if (this.texts.get(id) === text) return true
    this.texts.set(id, text)
    return false
  }
}

export function placeOf({ record, line }: RecordLine): At {
  const time = Date.parse(textOf(record['timestamp']))
  return { line, time: Number.isNaN(time) ? undefined : time }
}

export function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}

/** The objects of a list; a text on its own counts as one text part. */
export function partsOf(content: JsonValue | undefined): readonly JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (!Array.isArray(content)) return []
  return content.map((part: JsonValue) =>
    isRecord(part) ? part : { type: 'text', text: JSON.stringify(part) },
  )
}
