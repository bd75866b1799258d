import type { AssistantPart, JsonValue, ToolPart, TurnEndReason, UserPart } from '@tidemark/session-core'
import { assertLossless, isSessionError } from '@tidemark/session-core'
import type { Step } from './step.ts'

export interface At {
  readonly line: number
  /** Milliseconds since the epoch. Without one, the time of the record before it. */
  readonly time: number | undefined
}

export interface CallInput {
  readonly callId: string
  readonly name: string
  readonly input: unknown
}

export interface ResultInput {
  readonly callId: string
  readonly outcome: 'ok' | 'error'
  readonly parts: readonly ToolPart[]
}

/**
 * Puts a flat transcript into turns and steps.
 *
 * 1. Steps are only ever added at the end, so a longer file gives the same steps and then more.
 * 2. What a file leaves open stays open: nothing is closed because the file ends.
 * 3. A result that comes before its call waits for it, until the turn ends; then it is shown as a message of
 *    a tool, and so is a second result of the same call.
 */
export class Outline {
  readonly steps: Step[] = []
  private turn: 'none' | 'asked' | 'answered' = 'none'
  private stepKey: string | undefined
  private lastTime = 0
  private readonly running = new Map<string, number[]>()
  private readonly cutShort = new Map<string, number>()
  private readonly seen = new Set<string>()
  private readonly early = new Map<string, { input: ResultInput; at: At }[]>()

  get isBusy(): boolean {
    return this.running.size > 0
  }

  /** Results whose call has not come yet. */
  get waitingCount(): number {
    return [...this.early.values()].reduce((count, waiting) => count + waiting.length, 0)
  }

  /** A message in the user's seat. One that `asks` begins a new turn when the last one was answered. */
  user(parts: readonly UserPart[], at: At, { asks }: { asks: boolean }): void {
    if (asks && this.turn === 'answered') this.endTurn(this.isBusy ? 'interrupted' : 'completed')
    if (!this.isBusy) this.endStep()
    if (this.turn === 'none') this.startTurn(at)
    this.push('user/message', { parts }, at)
  }

  /** Model output belongs to the step of its key; another key begins another step once no call is running. */
  assistant(key: string, parts: readonly AssistantPart[], at: At): void {
    this.enterStep(key, at)
    if (parts.length > 0) this.push('assistant/message', { parts }, at)
  }

  call(key: string, { callId, name, input }: CallInput, at: At): void {
    this.enterStep(key, at)
    const index = this.push(
      'tool/call',
      { callId, name: name === '' ? 'unnamed' : name, arguments: lossless(input) },
      at,
    )
    this.seen.add(callId)
    this.running.set(callId, [...(this.running.get(callId) ?? []), index])
    const [waiting, ...others] = this.early.get(callId) ?? []
    if (waiting === undefined) return
    if (others.length === 0) this.early.delete(callId)
    else this.early.set(callId, others)
    this.result(waiting.input, at)
  }

  result(input: ResultInput, at: At): void {
    const callIndex = this.takeRunning(input.callId) ?? this.takeCutShort(input.callId)
    if (callIndex === undefined && this.seen.has(input.callId)) {
      this.showUnmatched({ input, at })
    } else if (callIndex === undefined) {
      this.early.set(input.callId, [...(this.early.get(input.callId) ?? []), { input, at }])
    } else {
      this.lastTime = at.time ?? this.lastTime
      this.steps.push({ type: 'tool/result', callIndex, data: input, time: this.lastTime, line: at.line })
    }
  }

  endTurn(reason: TurnEndReason): void {
    if (this.turn === 'none') return
    this.endStep()
    for (const waiting of [...this.early.values()].flat()) this.showUnmatched(waiting)
    this.early.clear()
    this.push('turn/end', { reason }, this.now())
    this.turn = 'none'
    for (const [callId, indexes] of this.running) this.cutShort.set(callId, indexes.at(-1) ?? 0)
    this.running.clear()
  }

  private startTurn(at: At): void {
    this.push('turn/start', {}, at)
    this.turn = 'asked'
  }

  private enterStep(key: string, at: At): void {
    if (this.turn === 'none') this.startTurn(at)
    this.turn = 'answered'
    if (this.stepKey !== undefined && (this.stepKey === key || this.isBusy)) return
    this.endStep()
    this.push('step/start', {}, at)
    this.stepKey = key
  }

  private endStep(): void {
    if (this.stepKey === undefined) return
    this.stepKey = undefined
    this.push('step/end', {}, this.now())
  }

  private takeRunning(callId: string): number | undefined {
    const [first, ...others] = this.running.get(callId) ?? []
    if (others.length > 0) this.running.set(callId, others)
    else this.running.delete(callId)
    return first
  }

  private takeCutShort(callId: string): number | undefined {
    const index = this.cutShort.get(callId)
    this.cutShort.delete(callId)
    return index
  }

  private showUnmatched({ input, at }: { input: ResultInput; at: At }): void {
    const heading = { type: 'text', text: 'Result of a tool call that is not open:', author: 'tool' } as const
    const parts = input.parts.map((part): UserPart => ({ ...part, author: 'tool' }))
    this.push('user/message', { parts: [heading, ...parts] }, at)
  }

  private now(): At {
    return { line: this.steps.at(-1)?.line ?? 0, time: this.lastTime }
  }

  private push<T extends Exclude<Step['type'], 'tool/result'>>(type: T, data: DataOf<T>, at: At): number {
    this.lastTime = at.time ?? this.lastTime
    // The compiler does not follow that `type` and `data` belong together.
    return this.steps.push({ type, data, time: this.lastTime, line: at.line } as Step) - 1
  }
}

type DataOf<T> = Extract<Step, { readonly type: T }>['data']

/** Arguments are free-form: what a log would refuse (-0, 1e999, 200 levels deep) is kept as JSON text. */
function lossless(input: unknown): JsonValue {
  try {
    assertLossless(input)
    return input
  } catch (error) {
    if (!isSessionError(error)) throw error
    return JSON.stringify(input) ?? null
  }
}
