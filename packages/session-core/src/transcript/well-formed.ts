import type { JsonValue } from '../json.ts'

/**
 * The value without halves of surrogate pairs, in keys too; the same value where there are none. The log keeps text
 * as it was told, but providers refuse half a character.
 */
export function wellFormed<T>(value: T & JsonValue): T {
  return isWellFormed(value) ? value : (repaired(value) as T)
}

function isWellFormed(value: JsonValue): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isWellFormed)
  return Object.entries<JsonValue>(value).every(([key, inner]) => key.isWellFormed() && isWellFormed(inner))
}

function repaired(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(repaired)
  const entries = Object.entries<JsonValue>(value)
  return Object.fromEntries(entries.map(([key, inner]) => [key.toWellFormed(), repaired(inner)]))
}
