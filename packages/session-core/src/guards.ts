import { coreSchemas } from './core.ts'
import type { EventSchema } from './definition.ts'
import type { SessionEventType } from './event.ts'

/** Its yes means that the schema accepts, given lossless JSON. Its no means nothing: then the schema is asked. */
export type Guard = (data: unknown) => boolean

type Fields = Readonly<Record<string, unknown>>

/** Whether core knows without the schema that it accepts; most of what is appended is of a few plain shapes. */
export function isKnownToFit(schema: EventSchema, data: unknown): boolean {
  const guard = bySchema.get(schema)
  return guard !== undefined && guard(data)
}

function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a record has so many fields; those of a prototype that somebody has extended count, so it says no. */
function hasFields(value: Fields, count: number): boolean {
  let found = 0
  for (const _key in value) found += 1
  return found === count
}

/** Whether a payload has the fields that were looked at, and `meta` at most. */
function endsThere(data: Fields, count: number): boolean {
  const { meta } = data
  if (meta === undefined) return hasFields(data, count)
  return isRecord(meta) && hasFields(data, count + 1)
}

function isEach(list: unknown, isItem: Guard): boolean {
  if (!Array.isArray(list)) return false
  for (const item of list as readonly unknown[]) if (!isItem(item)) return false
  return true
}

// Of files the guards know nothing: what they hold costs more than the schema.
const isToolPart: Guard = (part) =>
  isRecord(part) && part.type === 'text' && typeof part.text === 'string' && hasFields(part, 2)

const isAssistantPart: Guard = (part) => {
  if (!isRecord(part) || typeof part.text !== 'string') return false
  if (part.type === 'text') return hasFields(part, 2)
  if (part.type !== 'reasoning') return false
  return part.signature === undefined
    ? hasFields(part, 2)
    : typeof part.signature === 'string' && hasFields(part, 3)
}

const isAuthor = (author: unknown): boolean =>
  author === 'human' || author === 'agent' || author === 'file' || author === 'tool' || author === 'system'

const isUserPart: Guard = (part) =>
  isRecord(part) &&
  part.type === 'text' &&
  typeof part.text === 'string' &&
  isAuthor(part.author) &&
  hasFields(part, 3)

const isMark: Guard = (data) => isRecord(data) && endsThere(data, 0)

const isTurnEnd: Guard = (data) => {
  if (!isRecord(data)) return false
  const { reason } = data
  const isReason =
    reason === 'completed' || reason === 'interrupted' || reason === 'failed' || reason === 'limit'
  return isReason && endsThere(data, 1)
}

const isChunk: Guard = (data) => {
  if (!isRecord(data) || typeof data.text !== 'string') return false
  const { kind } = data
  return (kind === 'text' || kind === 'reasoning' || kind === 'call') && endsThere(data, 2)
}

const isToolCall: Guard = (data) =>
  isRecord(data) &&
  typeof data.callId === 'string' &&
  typeof data.name === 'string' &&
  data.name !== '' &&
  data.arguments !== undefined &&
  endsThere(data, 3)

const isToolResult: Guard = (data) =>
  isRecord(data) &&
  typeof data.callId === 'string' &&
  Number.isSafeInteger(data.callSeq) &&
  Number(data.callSeq) >= 0 &&
  (data.outcome === 'ok' || data.outcome === 'error') &&
  isEach(data.parts, isToolPart) &&
  endsThere(data, 4)

/** The types that are appended often. */
export const coreGuards = {
  'turn/start': isMark,
  'turn/end': isTurnEnd,
  'step/start': isMark,
  'step/end': isMark,
  'user/message': (data) => isRecord(data) && isEach(data.parts, isUserPart) && endsThere(data, 1),
  'assistant/chunk': isChunk,
  'assistant/message': (data) => isRecord(data) && isEach(data.parts, isAssistantPart) && endsThere(data, 1),
  'tool/call': isToolCall,
  'tool/result': isToolResult,
} satisfies Partial<Record<SessionEventType, Guard>>

// By schema and not by type: a definition that takes the place of core's brings its own.
const bySchema = new Map<EventSchema, Guard>(
  Object.entries(coreGuards).map(([type, guard]) => [coreSchemas[type as keyof typeof coreGuards], guard]),
)
