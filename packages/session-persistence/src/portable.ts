import { ExtData } from '@msgpack/msgpack'
import { SessionError } from '@tidemark/session-core'
import { depthMax, odd, pairsIn, unitsOf } from './msgpack-codec.ts'

/** Steps of a path that are told. */
const stepsMax = 16

/** A text counts as one value for each so many characters. */
const charsPerValue = 64

const unlimited = Number.MAX_SAFE_INTEGER

/** Where in a value the walk is. */
export interface Walk {
  readonly path: PropertyKey[]
  /** What must come back as it is: a state. What is put around it may hold bytes, and leaves `undefined` out. */
  readonly state: string | undefined
  /** Room for so many values before what is looked at is too much at once. */
  room: number
}

/** In the place of a value that was too much at once. */
export const large = Symbol('large')

/** The same value, or one in which extensions stand for what MessagePack would not give back; `large` for too much. */
export function portable(value: unknown, walk: Walk): unknown {
  walk.room -= 1
  switch (typeof value) {
    case 'string':
      walk.room -= Math.floor(value.length / charsPerValue)
      return value.isWellFormed() ? value : unitsOf(value)
    case 'number':
      return Object.is(value, -0) ? odd(value) : value
    case 'boolean':
      return value
    case 'undefined':
      return odd(value)
    case 'object':
      if (value === null) return value
      break
    default:
      throw unfit(`of type ${typeof value}`, walk)
  }
  if (walk.path.length >= depthMax) throw unfit(`deeper than ${depthMax} levels, or holds itself`, walk)
  if (Array.isArray(value)) return portableList(value, walk)
  if (isRecord(value)) return portableRecord(value, walk)
  if (walk.state === undefined) return value
  throw unfit('binary data', walk)
}

function portableList(value: readonly unknown[], walk: Walk): unknown {
  refuseOddList(value, walk)
  let copy: unknown[] | undefined
  for (let index = 0; index < value.length; index++) {
    const found = inner(index, value[index], walk)
    if (found === large) return large
    if (found !== value[index]) (copy ??= value.slice())[index] = found
  }
  return copy ?? value
}

function portableRecord(value: Fields, walk: Walk): unknown {
  const { keys, isOdd } = keysOf(value, walk)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) throw unfit('an object of a class', walk)
  if (isOdd || prototype === null) {
    const pairs = whole(walk, () =>
      keys.map((key) => [portable(key, walk), inner(key, value[key], walk)] as const),
    )
    return pairsIn(pairs, prototype)
  }
  let copy: Record<string, unknown> | undefined
  for (const key of keys) {
    if (walk.state === undefined && value[key] === undefined) continue // the encoder leaves it out
    const found = inner(key, value[key], walk)
    if (found === large) return large
    if (found !== value[key]) (copy ??= { ...value })[key] = found
  }
  return copy ?? value
}

/** What is full is found out before more of it is looked at. */
function inner(key: PropertyKey, value: unknown, walk: Walk): unknown {
  if (walk.room <= 0) return large
  walk.path.push(key)
  const found = portable(value, walk)
  walk.path.pop()
  return found
}

/** What is not taken apart is looked at to its end, and counts all the same. */
export function whole<T>(walk: Walk, look: () => T): T {
  const { room } = walk
  walk.room = unlimited
  const found = look()
  walk.room = room - (unlimited - walk.room)
  return found
}

export type Fields = Readonly<Record<string, unknown>>

function isRecord(value: unknown): value is Fields {
  return (
    typeof value === 'object' && value !== null && !ArrayBuffer.isView(value) && !(value instanceof ExtData)
  )
}

function refuseOddList(value: readonly unknown[], walk: Walk): void {
  if (Object.getPrototypeOf(value) !== Array.prototype) throw unfit('a list of a class', walk)
  // Its items, and `length`.
  if (Reflect.ownKeys(value).length !== value.length + 1) throw unfit('a list with holes or names', walk)
}

interface Keys {
  readonly keys: readonly string[]
  /** Whether MessagePack's maps would not give one of them back. */
  readonly isOdd: boolean
}

/** The keys of an object. Of a state no other property is left out, and none is read that would run code. */
function keysOf(value: Fields, walk: Walk): Keys {
  const isState = walk.state !== undefined
  const keys = isState ? Object.getOwnPropertyNames(value) : Object.keys(value)
  let isHidden = isState && Object.getOwnPropertySymbols(value).length > 0
  let isOdd = false
  let isRead = false
  for (const key of keys) {
    isOdd ||= key === '__proto__' || !key.isWellFormed()
    const property = isState ? Object.getOwnPropertyDescriptor(value, key) : undefined
    isHidden ||= property?.enumerable === false
    isRead ||= property?.get !== undefined
  }
  if (isHidden) throw unfit('an object with hidden properties', walk)
  if (isRead) throw unfit('an object with an accessor', walk)
  return { keys, isOdd }
}

/** Keys may be what users wrote, and are shown where they look like the names of fields. */
function unfit(reason: string, { path, state }: Walk): SessionError {
  const steps = path.map((key) => {
    if (typeof key === 'number') return `[${key}]`
    return /^[a-z][A-Za-z]{0,23}$/.test(String(key)) ? `.${String(key)}` : '.(key)'
  })
  const where = `state${steps.slice(0, stepsMax).join('')}`
  const message = `projection ${state ?? ''}: ${where} is ${reason}; snapshots are kept without it`
  return new SessionError('UNFIT_STATE', message, { name: state, path: where })
}
