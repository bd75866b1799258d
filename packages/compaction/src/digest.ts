import { createHash } from 'node:crypto'

/** SHA-256 of well-formed text as UTF-8, in hex. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex')
}
