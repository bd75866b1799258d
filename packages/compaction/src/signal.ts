import { SessionError } from '@tidemark/session-core'

/**
 * By what it can do, since a host may run in another realm.
 * @throws SessionError `INVALID_EVENT` for a signal that is none; nothing was recorded.
 */
export function refuseBadSignal(signal: unknown): void {
  if (signal === undefined) return
  const { aborted, addEventListener } = (signal ?? {}) as Partial<AbortSignal>
  if (typeof aborted === 'boolean' && typeof addEventListener === 'function') return
  throw new SessionError('INVALID_EVENT', 'a signal is an AbortSignal; nothing was begun')
}
