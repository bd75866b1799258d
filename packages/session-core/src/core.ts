import { z } from 'zod'
import { boundaryType, recoveredType } from './boundary.ts'
import { isEvent, type Bracket, type Definitions } from './definition.ts'
import type { JsonValue } from './json.ts'
import type { SessionEventType } from './event.ts'

// What stands in open fields was found to be lossless JSON before any schema runs.
const anything = z.custom<JsonValue>((value) => value !== undefined)
const meta = { meta: z.record(z.string(), anything).optional() }
const author = z.enum(['human', 'agent', 'file', 'tool', 'system'])

const text = { type: z.literal('text'), text: z.string() }
const reasoning = { type: z.literal('reasoning'), text: z.string(), signature: z.string().optional() }
const file = {
  type: z.literal('file'),
  mediaType: z.string().min(1),
  data: z.string().optional(),
  uri: z.string().optional(),
  name: z.string().optional(),
}

const seq = z.int().min(0)

const userPart = z.discriminatedUnion('type', [
  z.strictObject({ ...text, author }),
  z.strictObject({ ...file, author }),
])
const toolPart = z.discriminatedUnion('type', [z.strictObject(text), z.strictObject(file)])
const assistantPart = z.discriminatedUnion('type', [
  z.strictObject(text),
  z.strictObject(reasoning),
  z.strictObject(file),
])

/** What a plugin's event may show of a tool's result. */
export const toolParts = z.array(toolPart)

/** What a plugin's event may show to the model. */
export const renderedMessages = z.array(
  z.discriminatedUnion('role', [
    z.strictObject({ role: z.literal('user'), parts: z.array(userPart) }),
    z.strictObject({ role: z.literal('assistant'), parts: z.array(assistantPart) }),
  ]),
)

/** The shape of each core payload at append. */
export const coreSchemas = {
  'session/resumed': z.strictObject({}),
  'session/recovered': z.strictObject({
    reason: z.string(),
    segment: z.string(),
    offset: seq,
    sizeBytes: seq,
    digest: z.string(),
    lastSeq: z.int().min(-1),
    durableSeq: z.int().min(-1),
    evidence: z.string(),
  }),
  'bracket/abandoned': z.strictObject({ bracket: z.string(), openSeq: seq }),
  'turn/start': z.strictObject(meta),
  'turn/end': z.strictObject({ reason: z.enum(['completed', 'interrupted', 'failed', 'limit']), ...meta }),
  'step/start': z.strictObject(meta),
  'step/end': z.strictObject(meta),
  'user/message': z.strictObject({ parts: z.array(userPart), ...meta }),
  'assistant/chunk': z.strictObject({
    kind: z.enum(['text', 'reasoning', 'call']),
    text: z.string(),
    ...meta,
  }),
  'assistant/message': z.strictObject({ parts: z.array(assistantPart), ...meta }),
  'tool/call': z.strictObject({ callId: z.string(), name: z.string().min(1), arguments: anything, ...meta }),
  'tool/result': z.strictObject({
    callId: z.string(),
    callSeq: seq,
    outcome: z.enum(['ok', 'error']),
    parts: toolParts,
    ...meta,
  }),
}

/** Types that only core itself appends. */
export const reservedTypes: ReadonlySet<string> = new Set<SessionEventType>([
  boundaryType,
  recoveredType,
  'bracket/abandoned',
])

const common = { inside: [], key: () => '', scope: 'turn', late: false } as const

export const turn: Bracket = Object.freeze({
  ...common,
  name: 'turn',
  open: 'turn/start',
  close: ['turn/end'],
})
export const step: Bracket = Object.freeze({
  ...common,
  name: 'step',
  open: 'step/start',
  close: ['step/end'],
})

/** A tool call is known by its own seq, since providers reuse call ids. A late result is still accepted. */
export const toolCall: Bracket = Object.freeze({
  ...common,
  name: 'tool',
  open: 'tool/call',
  close: ['tool/result'],
  key: (event) => (isEvent(event, 'tool/result') ? event.data.callSeq : event.seq),
  late: true,
} satisfies Bracket)

export const coreDefinitions: Definitions = {
  owner: '@tidemark/session-core',
  events: {
    ...Object.fromEntries(Object.entries(coreSchemas).map(([type, schema]) => [type, { schema }])),
    'assistant/chunk': { schema: coreSchemas['assistant/chunk'], ignorable: true },
    'tool/call': { schema: coreSchemas['tool/call'], ids: ['callId'] },
    'tool/result': { schema: coreSchemas['tool/result'], ids: ['callId', 'callSeq'] },
  },
  brackets: [turn, step, toolCall],
}
