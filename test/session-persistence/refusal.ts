import { isSessionError, type SessionError } from '@tidemark/session-core'

/** The typed error that a call ends in; anything else that it throws is thrown on. */
export async function refusalOf(call: () => unknown): Promise<SessionError> {
  try {
    await call()
  } catch (error) {
    if (isSessionError(error)) return error
    throw error
  }
  throw new Error('nothing was refused')
}

export async function codeOf(call: () => unknown): Promise<string> {
  return (await refusalOf(call)).code
}
