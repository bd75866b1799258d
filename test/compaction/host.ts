import * as core from '@tidemark/session-core'
import type { Session, SessionEvent, SessionView } from '@tidemark/session-core'
import * as compaction from '@tidemark/compaction'
import type { Config } from '@tidemark/compaction'
import type {} from '@tidemark/compaction/cordis'
import { Context, type Fiber } from 'cordis'
import { endAfterTest } from '../clean-up.ts'

export interface Loaded {
  readonly ctx: Context
  readonly core: Fiber
  /** The compaction plugin. */
  readonly plugin: Fiber
}

/** A cordis host with core and compaction; it is unloaded after the test. */
export async function load(
  config: Partial<Config> = {},
  coreConfig: Partial<core.Config> = {},
): Promise<Loaded> {
  const ctx = new Context()
  const fiber = await ctx.plugin(core, coreConfig)
  endAfterTest(() => fiber.dispose())
  const plugin = await loadCompaction(ctx, config)
  return { ctx, core: fiber, plugin }
}

export async function startHost(config: Partial<Config> = {}): Promise<Context> {
  return (await load(config)).ctx
}

export async function loadCompaction(ctx: Context, config: Partial<Config> = {}): Promise<Fiber> {
  return ctx.plugin(compaction, config)
}

/** One turn of a person and an agent. */
export function say(
  session: Session,
  text: string,
  answer = `Done: ${text}. ${'And more was done. '.repeat(20)}`,
): void {
  session.append('turn/start', {})
  session.append('user/message', { parts: [{ type: 'text', text, author: 'human' }] })
  session.append('assistant/message', { parts: [{ type: 'text', text: answer }] })
  session.append('turn/end', { reason: 'completed' })
}

/** A listener appends at each event until a session takes no more; then, once, `onFull`. */
export function flood(ctx: Context, session: Session, onFull: () => void): void {
  let isFlooding = true
  ctx.on('tidemark/event', (from) => {
    if (!isFlooding) return
    try {
      from.append('user/message', { parts: [] })
    } catch {
      isFlooding = false
      onFull()
    }
  })
  say(session, 'flood')
}

/** A session with turns, so that a compaction has something to do. */
export function sessionOf(ctx: Context, turns: number, id?: string): Session {
  const session = ctx.sessions.create(id === undefined ? {} : { id })
  for (let turn = 0; turn < turns; turn++) say(session, `request ${turn}`)
  return session
}

export function call(session: Session, callId: string, name = 'shell'): SessionEvent<'tool/call'> {
  return session.append('tool/call', { callId, name, arguments: { command: `run ${callId}` } })
}

export function answer(session: Session, { seq, data }: SessionEvent<'tool/call'>, text = 'fine'): void {
  session.append('tool/result', {
    callId: data.callId,
    callSeq: seq,
    outcome: 'ok',
    parts: [{ type: 'text', text }],
  })
}

/** The log as another process would read it. */
export function stored(session: SessionView, through = session.log.length - 1): SessionEvent[] {
  return JSON.parse(JSON.stringify([...session.log.range(0, through)])) as SessionEvent[]
}

/** What a reader of the stored log sees. */
export function cold(ctx: Context, session: SessionView): string {
  return seen(ctx.sessions.view(session.header, stored(session)))
}

export function seen(session: SessionView): string {
  return JSON.stringify(session.messages())
}

/** The log is cut after `through`, as a crash would, and resumed under another id. */
export function crash(ctx: Context, session: SessionView, through = session.log.length - 1): Session {
  return ctx.sessions.create({ seed: stored(session, through) })
}

export function types(session: SessionView, from = 0): string[] {
  return [...session.log.range(from)].map(({ type }) => type)
}

export function statuses(session: SessionView): string[] {
  return session.open(compaction.compaction).map(({ status }) => status)
}

/** The texts of all parts that the system wrote. */
export function systemTexts(session: SessionView): string[] {
  return session
    .messages()
    .flatMap((message) => (message.role === 'user' ? message.parts : []))
    .flatMap((part) => (part.author === 'system' && part.type === 'text' ? [part.text] : []))
}

export function summaries(session: SessionView): string[] {
  return session.messages().flatMap((message) => compaction.findSummary(message) ?? [])
}

export async function codeOf(work: () => unknown): Promise<string> {
  try {
    await work()
    return 'no error'
  } catch (error) {
    return core.isSessionError(error) ? error.code : `not a SessionError: ${String(error)}`
  }
}
