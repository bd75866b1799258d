import { sha256 } from './digest.ts'
import { refusal } from './refusal.ts'

/** UTF-16 code units. */
const scopeLengthMax = 200

/** Bytes, and characters: a name is ASCII, and nothing is ever added to it. */
const nameLengthMax = 120

/**
 * A scope is any well-formed text: it names a logical session and is never a path.
 * @throws SessionError `INVALID_ID` (`bad-scope`).
 */
export function refuseScope(scope: unknown): asserts scope is string {
  const fits =
    typeof scope === 'string' && scope.length > 0 && scope.length <= scopeLengthMax && scope.isWellFormed()
  if (!fits) throw refusal('bad-scope', `a scope is well-formed text of 1 to ${scopeLengthMax} characters`)
}

/**
 * The name of a scope's folder: the same for the same scope, another for another scope, on every file system.
 *
 * `s-` and the scope, with each byte but `a-z`, `0-9` and `-` written as `=` and two digits: case, Unicode form and
 * separators stay apart also where a file system folds them. Where that is too long: `h-` and its SHA-256, and who
 * opens it compares the scope inside.
 */
export function scopeName(scope: string): string {
  const escaped = Buffer.from(scope)
    .toString('latin1')
    .replace(/[^a-z0-9-]/g, (byte) => `=${byte.charCodeAt(0).toString(16).padStart(2, '0')}`)
  return escaped.length + 2 <= nameLengthMax ? `s-${escaped}` : `h-${sha256(scope)}`
}
