import type { JsonObject } from '@tidemark/session-core'
import { isRecord, rawLines, readLine } from './lines.ts'
import { isMemoryBank } from './memory-bank.ts'
import type { Source } from './source.ts'

/** The kinds that have a reader here. */
const readableKinds = ['claude-code', 'codex', 'memory-bank', 'pi'] as const
export type ReadableKind = (typeof readableKinds)[number]

/** What a file is, going by its content alone. */
export type Format = { readonly kind: ReadableKind } | { readonly kind: 'foreign'; readonly what: string }

/** Lines looked at before giving up. One that is damaged or says nothing does not hide the ones after it. */
const probedLinesMax = 200

const signs: readonly (readonly [kind: string, is: (record: JsonObject) => boolean])[] = [
  ['pi', isPi],
  ['a DeepSeek Harness log', isHarness],
  ['codex', isCodex],
  ['an OpenHands run', isOpenHands],
  ['a SWE-agent trajectory', isSweAgent],
  ['claude-code', isClaudeCode],
]

export function detectFormat({ bytes }: Source): Format {
  if (bytes.every((byte) => byte === 0x0a || byte === 0x0d || byte === 0x20)) return foreign('empty')
  let objectCount = 0
  for (const raw of rawLines(bytes)) {
    if (raw.line > probedLinesMax) break
    const result = readLine(raw)
    if (result.kind !== 'record') continue
    const kind = kindOf(result.record)
    if (kind !== undefined) return formatOf(kind)
    objectCount++
  }
  return formatOfDocument(bytes) ?? foreign(objectCount > 0 ? 'JSON Lines of an unknown kind' : plain(bytes))
}

function kindOf(record: JsonObject): string | undefined {
  return signs.find(([, is]) => is(record))?.[0]
}

function formatOf(kind: string): Format {
  const readable = readableKinds.find((known) => known === kind)
  return readable === undefined ? foreign(kind) : { kind: readable }
}

function foreign(what: string): Format {
  return { kind: 'foreign', what }
}

/** A document over many lines, such as a pretty-printed trajectory. */
function formatOfDocument(bytes: Buffer): Format | undefined {
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
  if (isMemoryBank(value)) return { kind: 'memory-bank' }
  const first: unknown = Array.isArray(value) ? value[0] : value
  const kind = isRecord(first) ? kindOf(first) : undefined
  // A transcript is one record a line; the same records in an array are somebody's export.
  return foreign(kind === undefined ? 'a JSON document of an unknown kind' : `a JSON document (${kind})`)
}

function plain(bytes: Buffer): string {
  const head = bytes.subarray(0, 65_536)
  if (head.includes(0)) return 'a binary file'
  // A character may be cut at the end of the head.
  return head.toString('utf8').slice(0, -1).includes('\uFFFD') ? 'a binary file' : 'a text file'
}

function isPi(record: JsonObject): boolean {
  if (record['type'] === 'session') return typeof record['timestamp'] === 'string' && !('createdAt' in record)
  const { message } = record
  return record['type'] === 'message' && isRecord(message) && typeof message['role'] === 'string'
}

function isHarness(record: JsonObject): boolean {
  if (record['type'] === 'session') return 'createdAt' in record
  return Number.isInteger(record['seq']) && typeof record['time'] === 'number' && 'data' in record
}

function isCodex(record: JsonObject): boolean {
  return (
    typeof record['type'] === 'string' &&
    isRecord(record['payload']) &&
    typeof record['timestamp'] === 'string'
  )
}

function isOpenHands(record: JsonObject): boolean {
  if ('instance_id' in record && 'history' in record) return true
  return typeof record['source'] === 'string' && ('action' in record || 'observation' in record)
}

function isSweAgent(record: JsonObject): boolean {
  return (
    Array.isArray(record['trajectory']) || (Array.isArray(record['messages']) && isRecord(record['info']))
  )
}

function isClaudeCode(record: JsonObject): boolean {
  const { type, message } = record
  if (typeof type !== 'string') return false
  if ('parentUuid' in record || 'leafUuid' in record || type === 'file-history-snapshot') return true
  if (typeof record['sessionId'] === 'string') return true
  return (type === 'user' || type === 'assistant') && isRecord(message) && message['role'] === type
}
