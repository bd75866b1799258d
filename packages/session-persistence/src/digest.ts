import { createHash, createHmac, hash } from 'node:crypto'

/** SHA-256 as 64 lower-case hexadecimal digits. */
export function sha256(text: string): string {
  return hash('sha256', text)
}

export function keyedSha256(key: string, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex')
}

/**
 * The digest of a log after a batch: SHA-256 over the digest before it (32 bytes) and the batch's event
 * lines. A batch without events changes nothing, so that opening a session does not rename its content.
 */
export function chainDigest(before: string, lines: readonly Uint8Array[]): string {
  if (lines.every((line) => line.length === 0)) return before
  const chained = createHash('sha256').update(before, 'hex')
  for (const line of lines) chained.update(line)
  return chained.digest('hex')
}
