import { isSessionError, type SessionError } from '@tidemark/session-core'

/** The typed error that a call ends in; anything else that it throws is thrown on. */
export function refusalOf(call: () => unknown): SessionError {
  try {
    call()
  } catch (error) {
    if (isSessionError(error)) return error
    throw error
  }
  throw new Error('nothing was refused')
}

export function codeOf(call: () => unknown): string {
  return refusalOf(call).code
}

export async function codeOfAsync(call: () => Promise<unknown>): Promise<string> {
  try {
    await call()
  } catch (error) {
    if (isSessionError(error)) return error.code
    throw error
  }
  throw new Error('nothing was refused')
}
