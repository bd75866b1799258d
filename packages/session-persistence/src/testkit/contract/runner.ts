import { assert } from '@tidemark/session-core'
import type * as vitest from 'vitest'

type Runner = typeof vitest

// The campaigns run without it, so that it is missing is met only by what needs it.
const found = await import('vitest').catch(ifMissing)

/** The test runner. */
export function runner(): Runner {
  assert(found, 'tests are registered where vitest is installed')
  return found
}

function ifMissing(error: unknown): undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code !== 'ERR_MODULE_NOT_FOUND') throw error
}
