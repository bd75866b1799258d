import type { SessionErrorCode } from './codes.ts'

const MARK = Symbol.for('tidemark.error')

/** What an error says apart from its code. Never holds user content. */
export interface SessionErrorDetails {
  readonly sessionId?: string
  readonly seq?: number
  readonly type?: string
  /** A path inside a payload, such as `data.parts[0].text`. */
  readonly path?: string
  readonly segment?: string
  /** Bytes from the start of the segment. */
  readonly offset?: number
  /** The last seq that is still intact. */
  readonly intactThrough?: number
  readonly writer?: string
  readonly holder?: { readonly pid: number; readonly host: string; readonly startedAt: number }
  readonly [detail: string]: unknown
}

/**
 * Anything the world can do to a session. `code` is API, `message` is not.
 * The message says where, what, at which seq or byte, and what is intact.
 */
export class SessionError extends Error {
  readonly code: SessionErrorCode
  readonly details: SessionErrorDetails

  constructor(
    code: SessionErrorCode,
    message: string,
    details: SessionErrorDetails & { cause?: unknown } = {},
  ) {
    const { cause, ...rest } = details
    super(printable(message), cause === undefined ? undefined : { cause })
    this.name = 'SessionError'
    this.code = code
    this.details = Object.freeze(rest)
    Object.defineProperty(this, MARK, { value: true })
  }
}

/**
 * One line that a terminal shows and does not obey: an id may hold any text, such as a line that nobody wrote. The
 * details hold it as it is.
 */
function printable(message: string): string {
  return message.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (character) => {
    const digits = (character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')
    return `\\u{${digits}}`
  })
}

/** True for a `SessionError` of any copy of this package. */
export function isSessionError(value: unknown): value is SessionError {
  return value instanceof Error && MARK in value
}

/** A bug of ours, never something that the world can cause. */
export function assert(condition: unknown, invariant: string): asserts condition {
  if (!condition) throw new TypeError(`invariant broken: ${invariant}`)
}

/** For the end of a switch over a closed union. */
export function assertNever(value: never): never {
  throw new TypeError(`unexpected value: ${typeof value}`)
}
