import type { EventDefinition } from './definition.ts'
import { SessionError } from './errors.ts'
import { assertLossless, type JsonObject, type JsonValue } from './json.ts'

/**
 * The host's redaction: gets each payload before it is frozen, stored or published, and returns what may be kept.
 * It does not see type, seq or ids, and must not change what it is given. When it throws, the append is refused.
 */
export type Redact = (payload: JsonValue) => JsonValue

/** The payload as `redact` wants it, with the ids that its definition names left as they were. */
export function redacted(
  payload: JsonValue,
  redact: Redact,
  { type, ids }: { type: string; ids: EventDefinition['ids'] },
): JsonValue {
  const { held, shown } = holdBack(payload, ids ?? [])
  let result: JsonValue
  try {
    result = redact(shown)
  } catch {
    // What it threw may hold what it was to hide.
    throw new SessionError('INVALID_EVENT', `${type}: the redaction failed; nothing was recorded`, { type })
  }
  assertLossless(result, { type })
  if (Object.keys(held).length === 0) return result
  if (!isRecord(result))
    throw new SessionError('INVALID_EVENT', `${type}: the redaction changed the shape`, { type })
  return { ...result, ...held }
}

function holdBack(payload: JsonValue, ids: readonly string[]): { held: JsonObject; shown: JsonValue } {
  if (!isRecord(payload) || ids.length === 0) return { held: {}, shown: payload }
  const isId = ([key]: [string, JsonValue]): boolean => ids.includes(key)
  const entries = Object.entries(payload)
  return {
    held: Object.fromEntries(entries.filter(isId)),
    shown: Object.fromEntries(entries.filter((entry) => !isId(entry))),
  }
}

function isRecord(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
