import { defineBracket, type Definitions, type EventDefinition, type ToolPart } from '@tidemark/session-core'
import { z } from 'zod'
import type { Rule } from './scan.ts'

interface Keyed {
  readonly id: string
}
interface SumEnd {
  readonly from: number
  readonly through: number
  readonly applied: boolean
}

declare module '@tidemark/session-core' {
  interface SessionEventMap {
    'job/start': Keyed
    'job/end': Keyed
    'watch/start': Keyed
    'watch/end': Keyed
    'sum/start': Readonly<Record<string, never>>
    'sum/note': { readonly text: string }
    'sum/end': SumEnd
    'note/said': { readonly text: string }
    'cut/made': { readonly resultSeq: number; readonly parts: readonly ToolPart[] }
  }
}

const keyed: EventDefinition = { schema: z.strictObject({ id: z.string() }) }
const noted: EventDefinition = { schema: z.strictObject({ text: z.string() }) }
const keyOf = (event: { data: unknown }): string => (event.data as Keyed).id

/** A bracket of a plugin that ends with its turn or step. */
export const job = defineBracket({ name: 'job', open: 'job/start', close: 'job/end', key: keyOf })

/** A bracket of a plugin that may outlive turns. */
export const watch = defineBracket({
  name: 'watch',
  open: 'watch/start',
  close: 'watch/end',
  key: keyOf,
  scope: 'session',
})

/** A bracket whose close may replace what the model sees of a range. */
export const sum = defineBracket({
  name: 'sum',
  open: 'sum/start',
  close: 'sum/end',
  inside: ['sum/note'],
  scope: 'session',
})

const sumEnd: EventDefinition = {
  schema: z.strictObject({ from: z.number(), through: z.number(), applied: z.boolean() }),
  replaces: (_open, close, inside) => {
    const { from, through, applied } = close.data as SumEnd
    if (!applied) return undefined
    const text = inside.map((event) => (event.data as { text: string }).text).join(' ')
    return { from, through, messages: [{ role: 'user', parts: [{ type: 'text', author: 'system', text }] }] }
  },
}

const said: EventDefinition = {
  ...noted,
  ignorable: true,
  message: (event) => ({
    role: 'user',
    parts: [{ type: 'text', author: 'file', text: (event.data as { text: string }).text }],
  }),
}

/** Shows other parts in the place of a tool's result. */
const cut: EventDefinition = {
  schema: z.any(),
  amends: ({ data }) => data as { resultSeq: number; parts: readonly ToolPart[] },
}

/** The vocabulary of a plugin that uses everything a plugin may define. */
export const guestDefinitions: Definitions = {
  owner: 'guest',
  events: {
    'job/start': keyed,
    'job/end': keyed,
    'watch/start': keyed,
    'watch/end': keyed,
    'sum/start': { schema: z.strictObject({}) },
    'sum/note': noted,
    'sum/end': sumEnd,
    'note/said': said,
    'cut/made': cut,
  },
  brackets: [job, watch, sum],
}

const none = (): string => ''
const callKey: Rule['key'] = ({ type, seq, data }) =>
  type === 'tool/result' ? (data as { callSeq: number }).callSeq : seq

/** The same brackets, and those of core, in the words of the design. */
export const rules: Readonly<Record<'turn' | 'step' | 'tool' | 'job' | 'watch' | 'sum', Rule>> = {
  turn: { name: 'turn', open: 'turn/start', close: 'turn/end', scope: 'turn', key: none },
  step: { name: 'step', open: 'step/start', close: 'step/end', scope: 'turn', key: none },
  tool: { name: 'tool', open: 'tool/call', close: 'tool/result', scope: 'turn', key: callKey, late: true },
  job: { name: 'job', open: 'job/start', close: 'job/end', scope: 'turn', key: (event) => keyOf(event) },
  watch: {
    name: 'watch',
    open: 'watch/start',
    close: 'watch/end',
    scope: 'session',
    key: (event) => keyOf(event),
  },
  sum: { name: 'sum', open: 'sum/start', close: 'sum/end', scope: 'session', key: none },
}
