import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

/** SHA-256 as 64 lower-case hexadecimal digits. */
export function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

export function keyedSha256(key: string, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex')
}

/** Takes as long for digests that differ early as for those that differ late. */
export function isSameDigest(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a, 'hex'), Buffer.from(b, 'hex')]
  return left.length === right.length && timingSafeEqual(left, right)
}

export const digestPattern = /^[0-9a-f]{64}$/
