import type { EventSchema } from './definition.ts'
import { isKnownToFit } from './guards.ts'
import { step } from './json.ts'

type Verdict = Exclude<ReturnType<EventSchema['~standard']['validate']>, Promise<unknown>>

/** Why a schema refuses a payload, without a word of its content. */
export interface SchemaRefusal {
  /** Such as `data.parts[0].text`. */
  readonly path: string
  readonly reason: string
}

/**
 * What the first issue says. `undefined` when the schema accepts; what it makes of the payload is not looked at.
 * A payload of one of core's own types was found to be lossless JSON before.
 */
export function refusal(schema: EventSchema, data: unknown): SchemaRefusal | undefined {
  if (isKnownToFit(schema, data)) return undefined
  const result = judged(schema, data)
  if (typeof result === 'string') return { path: 'data', reason: result }
  const issue = result.issues?.[0]
  if (issue === undefined) return undefined
  const path = (issue.path ?? []).map((key) => step(typeof key === 'object' ? key.key : key)).join('')
  return { path: `data${path}`, reason: `does not fit its schema${hint(issue)}` }
}

/** What zod says beside its message: the message itself may quote the payload. */
function hint(issue: object): string {
  const { code, expected, keys } = issue as { code?: unknown; expected?: unknown; keys?: unknown }
  if (typeof expected === 'string') return ` (${expected} expected)`
  if (Array.isArray(keys)) return ` (not known:${keys.map((key) => ` ${step(String(key)).slice(1)}`).join()})`
  return typeof code === 'string' ? ` (${code})` : ''
}

function judged(schema: EventSchema, data: unknown): Verdict | string {
  try {
    const result = schema['~standard'].validate(data)
    if (!('then' in result)) return result
    // Nobody waits for its answer, and a rejection that nobody takes ends the process.
    result.then(undefined, () => undefined)
    return 'its schema is asynchronous, and append is not'
  } catch {
    // What it threw may hold user content.
    return 'its schema threw'
  }
}
