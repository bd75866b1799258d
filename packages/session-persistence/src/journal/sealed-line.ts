import { keyedSha256, sha256 } from '../digest.ts'
import { parseJson } from '../json-text.ts'

/**
 * A line that proves itself: `{"<kind>":{…,"sum":"<64 digits>"}}`. The sum is SHA-256 over the line up to,
 * and without, `,"sum":`; with a key it is HMAC-SHA-256. Lines of every format keep to this.
 */
export interface SealedLine {
  readonly text: string
  readonly sum: string
}

export function sealLine(kind: string, fields: object, key?: string): SealedLine {
  const body = JSON.stringify({ [kind]: fields }).slice(0, -2)
  const sum = sumOf(body, key)
  return { text: `${body},"sum":"${sum}"}}`, sum }
}

/** The fields of a sealed line; `undefined` unless the sum is right. */
export function openLine(
  kind: string,
  line: string,
  key?: string,
): { fields: unknown; sum: string } | undefined {
  const match = /^(.*),"sum":"([0-9a-f]{64})"\}\}$/s.exec(line)
  const [, body = '', sum = ''] = match ?? []
  if (!body.startsWith(`{"${kind}":{`) || sumOf(body, key) !== sum) return undefined
  const whole = parseJson(`${body}}}`) as Record<string, unknown> | undefined
  return whole && { fields: whole[kind], sum }
}

function sumOf(body: string, key: string | undefined): string {
  return key === undefined ? sha256(body) : keyedSha256(key, body)
}
