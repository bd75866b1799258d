import { isDeepStrictEqual } from 'node:util'

const shownMax = 300

/** A figure of a wrong result is worth nothing. */
export function expectEqual(found, expected, what) {
  if (isDeepStrictEqual(found, expected)) return
  throw new Error(`${what}: ${show(found)} where ${show(expected)} was due`)
}

const show = (value) => String(JSON.stringify(value)).slice(0, shownMax)
