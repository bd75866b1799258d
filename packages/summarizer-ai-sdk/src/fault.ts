import type { RefusalReason } from './refusal.ts'

/** What is read of an error of a model, its provider or the network. Its message is not: it may quote anything. */
export interface Fault {
  readonly statusCode?: number
  readonly networkCode?: string
  readonly errorName?: string
  /** The same request may be answered another time. */
  readonly isPassing: boolean
  readonly retryAfterMs?: number
}

const causeDepthMax = 8
/** Another end that closed the connection; undici has a name of its own for it. */
const resetCodes = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])
const codePattern = /^(?:E[A-Z0-9]{2,20}|UND_ERR_[A-Z_]{2,30}|CERT_[A-Z_]{2,30})$/
const namePattern = /^(?:AI_)?(?:[A-Z][A-Za-z]{0,40})?(?:Error|Exception)$/

export function faultOf(error: unknown, now: number): Fault {
  const causes = causesOf(error)
  const statusCode = causes.map(statusOf).find((status) => status !== undefined)
  const networkCode = causes
    .map((cause) => named(cause, 'code', codePattern))
    .find((code) => code !== undefined)
  const errorName = named(error, 'name', namePattern)
  const retryAfterMs = causes.map((cause) => retryAfterOf(cause, now)).find((wait) => wait !== undefined)
  return {
    ...(statusCode !== undefined && { statusCode }),
    ...(networkCode !== undefined && { networkCode }),
    ...(errorName !== undefined && { errorName }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    isPassing:
      statusCode === undefined
        ? networkCode !== undefined && resetCodes.has(networkCode)
        : (statusCode === 429 || statusCode >= 500) &&
          causes.every((cause) => field(cause, 'isRetryable') !== false),
  }
}

export function reasonOf({ statusCode }: Fault): RefusalReason {
  if (statusCode === 429) return 'rate-limited'
  if (statusCode === 401 || statusCode === 403) return 'denied'
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) return 'rejected'
  return 'unavailable'
}

function causesOf(error: unknown): unknown[] {
  const causes: unknown[] = []
  for (
    let at = error;
    at !== undefined && at !== null && causes.length < causeDepthMax;
    at = field(at, 'cause')
  )
    causes.push(at)
  return causes
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (Reflect.get(value, name) as unknown) : undefined
}

function statusOf(error: unknown): number | undefined {
  const status = field(error, 'statusCode')
  return Number.isInteger(status) ? (status as number) : undefined
}

function named(error: unknown, name: string, pattern: RegExp): string | undefined {
  const value = field(error, name)
  return typeof value === 'string' && pattern.test(value) ? value : undefined
}

/** `retry-after-ms` is what some providers send besides; `retry-after` is seconds or a date. */
function retryAfterOf(error: unknown, now: number): number | undefined {
  const headers = field(error, 'responseHeaders')
  const inMs = numberOf(field(headers, 'retry-after-ms'))
  if (inMs !== undefined) return inMs
  const said = field(headers, 'retry-after')
  const inSeconds = numberOf(said)
  if (inSeconds !== undefined) return inSeconds * 1_000
  const date = typeof said === 'string' ? Date.parse(said) : NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'string' && /^\d{1,12}(?:\.\d{1,6})?$/.test(value) ? Number(value) : undefined
}
