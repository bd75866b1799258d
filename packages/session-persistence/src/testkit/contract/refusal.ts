import { SessionError, isSessionError } from '@tidemark/session-core'
import type { Scene } from './fact.ts'

type Calls = Readonly<Record<string, () => unknown>>

/** The code that a call is refused with, or words that are none. `name` says which call it was. */
export async function codeOf(call: () => unknown, name = 'a call'): Promise<string> {
  try {
    await call()
  } catch (cause) {
    if (isSessionError(cause)) return cause.code
    const message = `${name} failed with an error that has no code; a storage refuses with a SessionError`
    throw new SessionError('STORAGE_FAILED', message, { call: name, cause })
  }
  return 'no refusal'
}

/** Every one of these calls ends in this code. */
export async function allRefused(expect: Scene['expect'], code: string, calls: Calls): Promise<void> {
  for (const [name, call] of Object.entries(calls))
    expect(await codeOf(call, name), `${name} is refused with ${code}`).toBe(code)
}
