import { assert, isSessionError, type SessionError } from '@tidemark/session-core'

/** The typed error that a call ends in; anything else that it throws is thrown on. */
export async function refusalOf(call: () => unknown): Promise<SessionError> {
  let refusal: SessionError | undefined
  try {
    await call()
  } catch (error) {
    if (!isSessionError(error)) throw error
    refusal = error
  }
  assert(refusal, 'what is not allowed is refused')
  return refusal
}

export async function codeOf(call: () => unknown): Promise<string> {
  return (await refusalOf(call)).code
}
