import { sha256 } from '../digest.ts'

/** Bytes (and characters: it is ASCII) in a folder's name. Nothing is ever added to a name. */
const folderNameLengthMax = 200

const prefixLength = 100

/**
 * The name of a session's folder: the same for the same id, another for another id, on every file system.
 *
 * `s-` and the id, with every byte that is not `a-z`, `0-9`, `-` or `_` written as `=` and two hexadecimal
 * digits. So neither case, Unicode form, separators nor reserved names matter. Where that is too long: `h-`,
 * its beginning, and the id's SHA-256; who opens it compares the id in the header.
 */
export function folderName(id: string): string {
  const escaped = escapeId(id)
  if (escaped.length + 2 <= folderNameLengthMax) return `s-${escaped}`
  return `h-${escaped.slice(0, prefixLength)}-${sha256(id)}`
}

/** The id that a folder's name spells out; `undefined` where it does not. */
export function idIn(name: string): string | undefined {
  if (!name.startsWith('s-')) return undefined
  const bytes = name
    .slice(2)
    .replace(/=([0-9a-f]{2})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)))
  const id = Buffer.from(bytes, 'latin1').toString()
  return id !== '' && folderName(id) === name ? id : undefined
}

/** Folders that are being built or removed; whoever lists passes over them. */
export const passingPrefixes = { building: 'tmp-', removing: 'gone-' } as const

function escapeId(id: string): string {
  const escape = (byte: string): string => `=${byte.charCodeAt(0).toString(16).padStart(2, '0')}`
  return Buffer.from(id)
    .toString('latin1')
    .replace(/[^a-z0-9_-]/g, escape)
}
