import type { Step } from '../../../examples/readers/step.ts'

let count = 0

function base(): Record<string, unknown> {
  count++
  return {
    uuid: `uuid-${count}`,
    parentUuid: count === 1 ? null : `uuid-${count - 1}`,
    sessionId: 'session',
    isSidechain: false,
    timestamp: new Date(1_700_000_000_000 + count * 1_000).toISOString(),
  }
}

/** Records as Claude Code writes them. */
export const claude = {
  user: (content: unknown, more: object = {}) => ({
    ...base(),
    type: 'user',
    message: { role: 'user', content },
    ...more,
  }),
  assistant: (id: string, ...content: object[]) => ({
    ...base(),
    type: 'assistant',
    message: { role: 'assistant', id, content },
  }),
  result: (id: string, content: unknown, more: object = {}) =>
    claude.user([{ type: 'tool_result', tool_use_id: id, content, ...more }]),
  other: (type: string, more: object = {}) => ({ ...base(), type, ...more }),
}

export const text = (value: string): object => ({ type: 'text', text: value })
export const use = (id: string, input: unknown = {}): object => ({
  type: 'tool_use',
  id,
  name: 'Bash',
  input,
})

function entry(type: string, more: object): object {
  count++
  const timestamp = new Date(1_700_000_000_000 + count * 1_000).toISOString()
  return { type, id: `id-${count}`, parentId: null, timestamp, ...more }
}

/** Entries as pi writes them. */
export const pi = {
  header: (more: object = { version: 3 }) => ({
    type: 'session',
    id: 'session',
    timestamp: new Date(1_700_000_000_000).toISOString(),
    cwd: '/somewhere',
    ...more,
  }),
  entry,
  message: (role: string, more: object) => entry('message', { message: { role, ...more } }),
  user: (content: unknown) => pi.message('user', { content }),
  assistant: (stopReason: string, ...content: object[]) => pi.message('assistant', { stopReason, content }),
  call: (id: string, more: object = {}) => ({ type: 'toolCall', id, name: 'bash', arguments: {}, ...more }),
  result: (toolCallId: string, value: string, isError = false) =>
    pi.message('toolResult', { toolCallId, toolName: 'bash', isError, content: [text(value)] }),
}

function rollout(type: string, payload: object): object {
  count++
  return { timestamp: new Date(1_700_000_000_000 + count * 1_000).toISOString(), type, payload }
}

/** Records as Codex writes them. */
export const codex = {
  record: rollout,
  meta: () => rollout('session_meta', { id: 'session', cwd: '/somewhere' }),
  item: (type: string, more: object) => rollout('response_item', { type, ...more }),
  event: (type: string, more: object = {}) => rollout('event_msg', { type, ...more }),
  user: (value: string) =>
    codex.item('message', { role: 'user', content: [{ type: 'input_text', text: value }] }),
  /** What a person typed: given to the model, then shown. */
  typed: (value: string): readonly [object, object] => [
    codex.user(value),
    codex.event('user_message', { message: value }),
  ],
  assistant: (value: string) =>
    codex.item('message', { role: 'assistant', content: [{ type: 'output_text', text: value }] }),
  call: (id: string, given: string) =>
    codex.item('function_call', { call_id: id, name: 'exec', arguments: given }),
  output: (id: string, output: string) => codex.item('function_call_output', { call_id: id, output }),
}

export const typesOf = (steps: readonly Step[]): string[] => steps.map(({ type }) => type)

/** The text parts of the messages in the user's seat, each with who wrote it. */
export function saidBy(steps: readonly Step[]): [author: string, text: string][] {
  return steps.flatMap((step) => {
    if (step.type !== 'user/message') return []
    return step.data.parts.map((part): [string, string] => [
      part.author,
      part.type === 'text' ? part.text : part.type,
    ])
  })
}
