import { SessionError } from './errors.ts'

/** Characters in a session id, counted as UTF-16 code units. */
export const idLengthMax = 200

/**
 * A session id is any well-formed text: it names a session and is never a path.
 * @throws SessionError `INVALID_ID`.
 */
export function refuseId(id: unknown): asserts id is string {
  const fits = typeof id === 'string' && id.length > 0 && id.length <= idLengthMax && id.isWellFormed()
  if (!fits)
    throw new SessionError('INVALID_ID', `a session id is well-formed text of 1 to ${idLengthMax} characters`)
}
