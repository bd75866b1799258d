import { createHash } from 'node:crypto'

function digestOf(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex').slice(0, 32)
}

/**
 * A word that does not occur in the text, the same each time for the same text. It is made of the digest of what it
 * encloses, so nothing inside can be written to hold it; that it does not is checked all the same.
 */
export function boundaryFor(text: string, digest = digestOf): string {
  let boundary = digest(text)
  while (text.includes(boundary)) boundary = digest(`${boundary}\n${text}`)
  return boundary
}
