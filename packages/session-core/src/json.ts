import { SessionError, type SessionErrorDetails } from './errors.ts'

export type JsonPrimitive = string | number | boolean | null
export type JsonValue = JsonPrimitive | readonly JsonValue[] | JsonObject
export interface JsonObject {
  readonly [key: string]: JsonValue
}

/** Objects and arrays inside each other. Deeper payloads are refused. */
export const payloadDepthMax = 128

/** Values in one payload, each counted as often as JSON text would hold it. A larger payload is refused. */
export const payloadValuesMax = 1_000_000

interface NodeProcess {
  getBuiltinModule?: (name: string) => { types: { isProxy: (value: unknown) => boolean } } | undefined
}

/** A proxy can answer differently each time it is asked. Where the runtime can tell one, it is refused. */
const isProxy = (globalThis as { process?: NodeProcess }).process?.getBuiltinModule?.('node:util')?.types
  .isProxy

/** Why a value is refused and where: the path grows as the walk unwinds, so that the common case builds no strings. */
interface Refusal {
  path: string
  readonly reason: string
}

/**
 * Checks that `value` comes back equal from JSON text: no BigInt, `undefined`, function, symbol, NaN, infinity, -0,
 * hole, accessor, hidden property, cycle, proxy or object with a prototype of its own.
 *
 * @throws SessionError `INVALID_PAYLOAD` with the path, never the content. Nothing is changed.
 */
export function assertLossless(
  value: unknown,
  details: SessionErrorDetails = {},
): asserts value is JsonValue {
  const refusal = guarded(value)
  if (refusal === undefined) return
  const path = `data${refusal.path}`
  const where = details.type === undefined ? path : `${details.type}: ${path}`
  throw new SessionError('INVALID_PAYLOAD', `${where} is ${refusal.reason}; nothing was recorded`, {
    ...details,
    path,
  })
}

interface Walk {
  readonly parents: object[]
  count: number
}

function guarded(value: unknown): Refusal | undefined {
  try {
    return check(value, { parents: [], count: 0 })
  } catch {
    // The value's own code ran (a proxy trap) and threw: what it threw may hold user content.
    return refuse('not readable without running its own code')
  }
}

function refuse(reason: string): Refusal {
  return { path: '', reason }
}

function check(value: unknown, walk: Walk): Refusal | undefined {
  walk.count += 1
  if (walk.count > payloadValuesMax) return refuse(`one of more than ${payloadValuesMax} values`)
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return undefined
    case 'number':
      if (Object.is(value, -0)) return refuse('-0, which JSON does not keep')
      return Number.isFinite(value) ? undefined : refuse('a number that JSON does not have')
    case 'object':
      return value === null ? undefined : checkObject(value, walk)
    default:
      return refuse(`of type ${typeof value}, which JSON does not have`)
  }
}

function checkObject(value: object, walk: Walk): Refusal | undefined {
  const { parents } = walk
  if (isProxy?.(value)) return refuse('a proxy')
  if (parents.includes(value)) return refuse('a cycle')
  if (parents.length >= payloadDepthMax) return refuse(`deeper than ${payloadDepthMax} levels`)
  parents.push(value)
  const refusal = Array.isArray(value) ? checkArray(value, walk) : checkRecord(value, walk)
  parents.pop()
  return refusal
}

function checkArray(value: readonly unknown[], walk: Walk): Refusal | undefined {
  if (Object.getPrototypeOf(value) !== Array.prototype) return refuse('an array with a class of its own')
  if (Reflect.ownKeys(value).length !== value.length + 1)
    return refuse('an array with holes or named properties')
  for (let index = 0; index < value.length; index++) {
    const refusal = checkProperty(value, index, walk)
    if (refusal) return refusal
  }
  return undefined
}

function checkRecord(value: object, walk: Walk): Refusal | undefined {
  if (Object.getPrototypeOf(value) !== Object.prototype)
    return refuse('an object with a prototype of its own')
  // Names and symbols apart: V8 has a short way for the names of a plain object, and none for `Reflect.ownKeys`.
  for (const key of Object.getOwnPropertyNames(value)) {
    const refusal = checkProperty(value, key, walk)
    if (refusal) return refusal
  }
  return Object.getOwnPropertySymbols(value).length > 0 ? refuse('an object with a symbol as key') : undefined
}

function checkProperty(value: object, key: string | number, walk: Walk): Refusal | undefined {
  const property = Object.getOwnPropertyDescriptor(value, key)
  let refusal: Refusal | undefined
  if (property === undefined || !('value' in property)) refusal = refuse('an accessor')
  else if (!property.enumerable) refusal = refuse('a hidden property')
  else refusal = check(property.value, walk)
  if (refusal) refusal.path = step(key) + refusal.path
  return refusal
}

/** A key that does not look like the name of a field may be user content, such as a secret, and is not shown. */
export function step(key: PropertyKey): string {
  if (typeof key === 'number') return `[${key}]`
  return /^[a-z][A-Za-z]{0,23}$/.test(String(key)) ? `.${String(key)}` : '.(key)'
}

/** Freezes a checked value and everything in it. */
export function deepFreeze<T extends JsonValue>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  const object: JsonValue = value
  if (Array.isArray(object)) for (const item of object as readonly JsonValue[]) deepFreeze(item)
  else for (const key of Object.keys(object)) deepFreeze((object as JsonObject)[key] as JsonValue)
  return Object.freeze(value)
}
