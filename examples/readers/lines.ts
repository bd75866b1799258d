import type { JsonObject } from '@tidemark/session-core'
import { TranscriptRefused } from './refusal.ts'
import type { Source } from './source.ts'

const lineFeed = 0x0a
const utf8 = new TextDecoder('utf-8', { fatal: true })

export interface RawLine {
  /** From 1. */
  readonly line: number
  readonly bytes: Buffer
  /** Whether a line feed follows: only the last line can lack it. */
  readonly ended: boolean
}

export interface RecordLine {
  readonly line: number
  readonly text: string
  readonly record: JsonObject
}

/** Splits on LF only: U+2028 and its like are ordinary characters inside a JSON string. */
export function* rawLines(bytes: Buffer): Generator<RawLine> {
  let from = 0
  for (let line = 1; from < bytes.length; line++) {
    const found = bytes.indexOf(lineFeed, from)
    const through = found < 0 ? bytes.length : found
    yield { line, bytes: bytes.subarray(from, through), ended: found >= 0 }
    from = through + 1
  }
}

/**
 * The records of a JSON Lines file. Blank lines are passed over, and comment lines before the first record.
 * @throws TranscriptRefused `damaged` at the first line that is neither.
 */
export function* recordLines({ file, bytes }: Source): Generator<RecordLine> {
  let started = false
  for (const raw of rawLines(bytes)) {
    const result = readLine(raw)
    if (result.kind === 'blank' || (!started && result.kind === 'comment')) continue
    if (result.kind !== 'record') {
      const reason = result.kind === 'damaged' ? result.reason : 'is a comment between records'
      throw new TranscriptRefused('damaged', file, { reason, line: raw.line })
    }
    started = true
    yield { line: raw.line, text: result.text, record: result.record }
  }
}

export type LineResult =
  | { readonly kind: 'record'; readonly text: string; readonly record: JsonObject }
  | { readonly kind: 'blank' }
  | { readonly kind: 'comment' }
  | { readonly kind: 'damaged'; readonly reason: string }

export function readLine({ bytes, ended }: RawLine): LineResult {
  if (bytes.includes(0)) return damaged(`holds ${bytes.filter((byte) => byte === 0).length} NUL bytes`)
  const text = decode(bytes)
  if (text === undefined) return damaged(ended ? 'is not UTF-8' : 'is torn inside a character')
  const start = text.trimStart()
  if (start === '') return { kind: 'blank' }
  if (start.startsWith('#') || start.startsWith('//')) return { kind: 'comment' }
  const value = parse(text)
  if (value === undefined) return damaged(diagnose(start, ended))
  if (!isRecord(value)) return damaged('is JSON, but no object')
  return { kind: 'record', text, record: value }
}

export function isRecord(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function damaged(reason: string): LineResult {
  return { kind: 'damaged', reason }
}

function decode(bytes: Buffer): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Says what is wrong with a line that is no JSON, in words a person can act on. */
function diagnose(text: string, ended: boolean): string {
  if (!text.startsWith('{'))
    return ended ? 'is not JSON' : 'is torn: it ends without a line feed and is not JSON'
  const end = endOfObject(text)
  if (end === undefined)
    return ended ? 'is cut off inside a record' : 'is torn: the file ends inside a record'
  if (parse(text.slice(0, end)) === undefined) return 'is broken JSON'
  return text.slice(end).trimStart().startsWith('{')
    ? 'holds two records glued together'
    : 'goes on after its record'
}

/** Where the object that starts at 0 ends, going by brackets and quotes alone. */
function endOfObject(text: string): number | undefined {
  let depth = 0
  let quoted = false
  for (let index = 0; index < text.length; index++) {
    const character = text[index]
    if (character === '\\' && quoted) index++
    else if (character === '"') quoted = !quoted
    else if (quoted) continue
    else if (character === '{' || character === '[') depth++
    else if ((character === '}' || character === ']') && --depth === 0) return index + 1
  }
  return undefined
}
