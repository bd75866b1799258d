import type { AnySessionEvent } from '@tidemark/session-core'
import type { EncodedEvent } from '../encoded-event.ts'
import { parseJson } from '../json-text.ts'
import { isRecord } from './guard.ts'

/**
 * Nine of ten events are pieces of a stream, whose envelope takes several times their text. So a run of them stands
 * on one line, without loss: what does not come back exactly as it was stands on a line of its own.
 */
const chunkType = 'assistant/chunk'

/** Events in one run. */
export const runCountMax = 1_024
const runCountMin = 2

/** What the events of a run share. */
interface Shared {
  readonly kind: string
  readonly meta?: unknown
}

interface Chunk {
  readonly seq: number
  readonly time: number
  readonly shared: Shared
  readonly text: string
}

/** A run that may go on. */
interface Run {
  readonly first: EncodedEvent
  readonly shared: Shared
  /** The JSON text of `meta`, once it was needed. */
  metaJson?: string
  lastTime: number
  readonly dt: number[]
  readonly text: string[]
}

/** The lines of a batch, as a segment holds them. */
export function packedLinesOf(batch: readonly EncodedEvent[]): Uint8Array {
  return Buffer.from(packRuns(batch).join(''))
}

/** The lines of a batch with their ends: never more bytes than the same events take one a line. */
export function packRuns(batch: readonly EncodedEvent[]): readonly string[] {
  const lines: string[] = []
  let run: Run | undefined
  for (const encoded of batch) {
    const chunk = chunkIn(encoded.event)
    if (run && chunk && goesOn(run, chunk)) {
      run.dt.push(chunk.time - run.lastTime)
      run.text.push(chunk.text)
      run.lastTime = chunk.time
      continue
    }
    if (run) lines.push(lineOf(run))
    run = chunk && { first: encoded, shared: chunk.shared, lastTime: chunk.time, dt: [], text: [chunk.text] }
    if (chunk === undefined) lines.push(`${encoded.json}\n`)
  }
  if (run) lines.push(lineOf(run))
  return lines
}

/** An event that a run can hold: it can be made again from what its line says, member by member in their order. */
function chunkIn({ seq, time, type, data, ignorable, replaces }: AnySessionEvent): Chunk | undefined {
  if (type !== chunkType || ignorable !== true || replaces !== undefined) return undefined
  if (!Number.isSafeInteger(time) || !Number.isSafeInteger(seq) || !isRecord(data)) return undefined
  if (Object.getPrototypeOf(data) !== Object.prototype) return undefined
  const keys = Object.keys(data)
  if (keys[0] !== 'kind' || keys[1] !== 'text' || keys.length > 3) return undefined
  const { kind, text, meta } = data
  if (typeof kind !== 'string' || typeof text !== 'string') return undefined
  if (keys.length === 2) return { seq, time, shared: { kind }, text }
  return keys[2] === 'meta' && meta !== undefined ? { seq, time, shared: { kind, meta }, text } : undefined
}

function goesOn(run: Run, { seq, time, shared }: Chunk): boolean {
  const { first, shared: own, lastTime, text } = run
  const isNext = seq === first.event.seq + text.length && text.length < runCountMax
  if (!isNext || shared.kind !== own.kind || !Number.isSafeInteger(time - lastTime)) return false
  if (shared.meta === own.meta) return true
  if (shared.meta === undefined || own.meta === undefined) return false
  run.metaJson ??= JSON.stringify(own.meta)
  return JSON.stringify(shared.meta) === run.metaJson
}

function lineOf({ first, shared, dt, text }: Run): string {
  if (text.length < runCountMin) return `${first.json}\n`
  const { seq, time } = first.event
  return `${JSON.stringify({ seq, time, type: chunkType, data: shared, run: { dt, text } })}\n`
}

/** The events of one line; `undefined` when its value is none that a writer makes. */
export function unpackLine(value: unknown): readonly AnySessionEvent[] | undefined {
  if (!isRecord(value) || typeof value.seq !== 'number') return undefined
  return 'run' in value ? unpackRun(value) : [value as unknown as AnySessionEvent]
}

function unpackRun(line: Record<string, unknown>): readonly AnySessionEvent[] | undefined {
  const { type, data, run } = line
  const isWhole = hasKeys(line, ['seq', 'time', 'type', 'data', 'run']) && type === chunkType
  if (!isWhole || !isRecord(run) || !hasKeys(run, ['dt', 'text']) || !isShared(data)) return undefined
  const { dt, text } = run
  const areLists = Array.isArray(dt) && Array.isArray(text)
  if (!areLists || text.length < runCountMin || text.length > runCountMax) return undefined
  return dt.length === text.length - 1 ? eventsOf(line as unknown as RunLine, { dt, text }) : undefined
}

interface RunLine {
  readonly seq: number
  readonly time: unknown
  readonly data: Shared
}

/** Plain loops and literals: nine of ten events of a log that is read come from here. */
function eventsOf(
  { seq, time: firstTime, data: { kind, meta } }: RunLine,
  { dt, text: texts }: { dt: readonly unknown[]; text: readonly unknown[] },
): readonly AnySessionEvent[] | undefined {
  const events: AnySessionEvent[] = []
  let time = firstTime as number
  for (let index = 0; index < texts.length; index++) {
    const text = texts[index]
    const change = index === 0 ? 0 : dt[index - 1]
    if (typeof text !== 'string' || !Number.isSafeInteger(change)) return undefined
    time += change as number
    if (!Number.isSafeInteger(time) || !Number.isSafeInteger(seq + index)) return undefined
    const data = meta === undefined ? { kind, text } : { kind, text, meta }
    events.push({ seq: seq + index, time, type: chunkType, data, ignorable: true })
  }
  return events
}

function isShared(data: unknown): data is Shared {
  if (!isRecord(data) || typeof data.kind !== 'string') return false
  return hasKeys(data, 'meta' in data ? ['kind', 'meta'] : ['kind'])
}

/** The first and the last seq of a whole line of events, without its end; NaN when it is none. */
export function seqsIn(line: string): { readonly from: number; readonly to: number } {
  const events = line.endsWith('}') ? unpackLine(parseJson(line)) : undefined
  return { from: events?.at(0)?.seq ?? NaN, to: events?.at(-1)?.seq ?? NaN }
}

function hasKeys(value: object, keys: readonly string[]): boolean {
  const own = Object.keys(value)
  return own.length === keys.length && own.every((key, index) => key === keys[index])
}
