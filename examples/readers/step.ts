import type { Session, SessionEvent, SessionEventMap, ToolResult } from '@tidemark/session-core'

type PlainType =
  'turn/start' | 'turn/end' | 'step/start' | 'step/end' | 'user/message' | 'assistant/message' | 'tool/call'

interface Origin {
  /** Milliseconds since the epoch, as the file told it. */
  readonly time: number
  /** The line of the file that it came from. */
  readonly line: number
}

/** One thing that happened in a transcript, in session-core's words but without a place in a log yet. */
export type Step =
  | { readonly [T in PlainType]: Origin & { readonly type: T; readonly data: SessionEventMap[T] } }[PlainType]
  | (Origin & {
      readonly type: 'tool/result'
      /** The index, in the list of steps, of the call that this answers. */
      readonly callIndex: number
      readonly data: Omit<ToolResult, 'callSeq'>
    })

/** Records steps into a session, in order, one event each, at the time that the file told. */
export class Recording {
  private readonly seqs: number[] = []

  constructor(private readonly session: Session) {}

  record(step: Step): SessionEvent {
    const event = this.append(step)
    this.seqs.push(event.seq)
    return event
  }

  private append(step: Step): SessionEvent {
    const { time } = step
    if (step.type !== 'tool/result') return this.session.append(step.type, step.data, { time })
    const callSeq = this.seqs[step.callIndex]
    if (callSeq === undefined)
      throw new RangeError(`a result of step ${step.callIndex}, which is not recorded`)
    return this.session.append('tool/result', { ...step.data, callSeq }, { time })
  }
}
