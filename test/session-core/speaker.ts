import type { Session, SessionView, ToolOutcome, TranscriptMessage } from '@tidemark/session-core'

const text = (value: string) => ({ type: 'text', text: value }) as const

/** Short forms of what a host appends; each gives the seq. */
export function speaker(session: Session) {
  return {
    user: (value: string) =>
      session.append('user/message', { parts: [{ ...text(value), author: 'human' }] }).seq,
    said: (value: string) => session.append('assistant/message', { parts: [text(value)] }).seq,
    chunk: (value: string, kind: 'text' | 'reasoning' | 'call' = 'text') =>
      session.append('assistant/chunk', { kind, text: value }).seq,
    call: (callId = 'a', name = 'tool') => session.append('tool/call', { callId, name, arguments: {} }).seq,
    result: (callSeq: number, value = 'done', callId = 'a') =>
      session.append('tool/result', { callId, callSeq, outcome: 'ok', parts: [text(value)] }).seq,
    turn: () => session.append('turn/start', {}).seq,
    step: () => session.append('step/start', {}).seq,
    endStep: () => session.append('step/end', {}).seq,
    endTurn: () => session.append('turn/end', { reason: 'completed' }).seq,
  }
}

/** A transcript as lines: `user: text`, `assistant: text +call-3`, `tool: call-3=ok`. */
export function lines(view: SessionView): string[] {
  return view.messages().map(line)
}

function line(message: TranscriptMessage): string {
  const parts = message.parts.map((part) => {
    if (part.type === 'tool-call') return `+${part.id}`
    if (part.type === 'tool-result') return `${part.id}=${part.outcome}`
    return part.type === 'file' ? `<${part.mediaType}>` : part.text
  })
  const cut = message.role === 'assistant' && message.interrupted ? ' (interrupted)' : ''
  return `${message.role}: ${parts.join(' ')}${cut}`
}

/** The outcome and the text of the result that the model sees for a call. */
export function resultShown(view: SessionView, callSeq: number): { outcome?: ToolOutcome; text?: string } {
  for (const message of view.messages()) {
    if (message.role !== 'tool') continue
    const part = message.parts.find(({ id }) => id === `call-${callSeq}`)
    const first = part?.parts[0]
    if (part) return { outcome: part.outcome, ...(first?.type === 'text' && { text: first.text }) }
  }
  return {}
}
