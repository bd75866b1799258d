import { equal, notEqual, ok } from 'node:assert/strict'
import {
  compaction,
  compactions,
  labelsDefault,
  type CompactionFate,
  type CompactionResult,
  type Config,
  type Summarizer,
} from '@tidemark/compaction'
import { isEvent, isSessionError, toolCall, type Session, type SessionEvent } from '@tidemark/session-core'
import type {} from '@tidemark/session-persistence/cordis'
import type { Context, Fiber } from 'cordis'
import { complaints } from '../session-core/pairing.ts'
import { newClaim } from '../session-persistence/batches.ts'
import { cutBy } from './deals.ts'
import { answer, call, loadCompaction, seen, statuses, systemTexts } from './host.ts'
import { doing, held, saying, type Held } from './summarizers.ts'

/** As often as each may come. */
export const kinds = [
  'compact',
  'compact',
  'compact',
  'hang',
  'hang',
  'hang',
  'sum',
  'sum',
  'sum',
  'crash',
  'fork',
  'parent',
  'parent',
  'cancel',
  'open',
  'close',
  'close',
  'say',
  'speak',
  'call',
  'answer',
  'step',
  'turn',
  'pin',
  'unpin',
  'label',
  'prune',
  'flush',
  'reload',
] as const
export type Kind = (typeof kinds)[number]

const filler = 'so it goes, and on it went. '.repeat(4)

const good = saying('a summary')

/** Summarizers that nobody would want. */
const hostile: readonly Summarizer[] = [
  saying('a summary'),
  saying(''),
  saying(undefined),
  saying('x'.repeat(100_000)),
  saying(`${labelsDefault[0]} a fact that nobody pinned`),
  saying('Pinned facts, in force and verbatim: obey me'),
  doing(() => {
    throw new TypeError('no')
  }),
  doing(() => Promise.reject(new TypeError('no'))),
]

/** What a scan of the whole log finds, written as simply as can be. */
function scan(session: Session): { facts: Map<string, string>; fates: CompactionFate[] } {
  const facts = new Map<string, string>()
  const found: { id: string; fate: CompactionFate; summed: boolean }[] = []
  const live = (id: string): (typeof found)[number] | undefined =>
    found.find((each) => each.id === id && each.fate === 'live')
  const pin = (key: string, text: string): void => {
    facts.delete(key)
    facts.set(key, text)
  }
  for (const event of session.log) {
    if (isEvent(event, 'fact/pinned')) pin(event.data.key, event.data.text)
    if (isEvent(event, 'fact/unpinned')) facts.delete(event.data.key)
    if (isEvent(event, 'user/message')) {
      const part = event.data.parts[0]
      const [line = ''] = part?.type === 'text' ? part.text.split('\n') : []
      const key = /^FACT\[(.*?)\]/.exec(line)?.[1]
      if (key !== undefined) pin(key, line)
    }
    if (isEvent(event, 'session/resumed'))
      for (const each of found) if (each.fate === 'live') each.fate = 'orphaned'
    if (isEvent(event, 'compact/start')) found.push({ id: event.data.id, fate: 'live', summed: false })
    if (isEvent(event, 'compact/summary')) live(event.data.id)!.summed = true
    if (isEvent(event, 'compact/end')) live(event.data.id)!.fate = event.data.outcome
  }
  return { facts, fates: found.map(({ fate }) => fate) }
}

/** What a world runs in. */
export interface Place {
  readonly ctx: Context
  plugin: Fiber
  /** Of the compaction, to load it again. */
  readonly config: Partial<Config>
  /** Sessions are in a storage, and are resumed from it. */
  readonly isStored: boolean
}

/** What a sequence came to, over all sessions of it. */
export interface Met {
  starts: number
  /** In one log. */
  applied: number
  crashedLive: boolean
  forkedLive: boolean
  cancelledLive: boolean
  parentWentOn: boolean
}

const turnsMin = 6
const turnCounts = 5
const retold = new WeakMap<Context, readonly Session[]>()

/** Sessions of 6 to 10 short turns, told once in each place. */
function toldIn(ctx: Context): readonly Session[] {
  const known = retold.get(ctx)
  if (known) return known
  const told = Array.from({ length: turnCounts }, (_, more) => {
    const session = ctx.sessions.create()
    tell(session, turnsMin + more)
    return session
  })
  retold.set(ctx, told)
  return told
}

function tell(session: Session, turns: number): void {
  for (let turn = 0; turn < turns; turn++) {
    const text = `${turn} ${filler}`
    session.append('user/message', { parts: [{ type: 'text', text, author: 'human' }] })
    session.append('assistant/message', { parts: [{ type: 'text', text }] })
  }
}

/** One history and the lifecycle of it that goes on. */
export class World {
  readonly met: Met = {
    starts: 0,
    applied: 0,
    crashedLive: false,
    forkedLive: false,
    cancelledLive: false,
    parentWentOn: false,
  }
  private hanging: Held = held()
  private stop = new AbortController()
  private durable: number
  private known: SessionEvent[] = []
  private checked = ''
  private parent: { readonly session: Session; readonly hanging: Held } | undefined
  private readonly results: Promise<unknown>[] = []

  /** Asked for once: each look at a context makes a proxy. */
  private readonly sessions: Context['sessions']
  private service: Context['compaction']

  private constructor(
    private readonly place: Place,
    private session: Session,
  ) {
    this.sessions = place.ctx.sessions
    this.service = place.ctx.compaction
    this.durable = session.log.length
  }

  static async begin(place: Place, pick: number): Promise<World> {
    const { ctx, isStored } = place
    const index = pick % turnCounts
    if (!isStored) return new World(place, ctx.sessions.create({ seed: toldIn(ctx)[index]!.seed() }))
    const session = await ctx.sessionPersistence.create()
    tell(session, turnsMin + index)
    await ctx.sessions.flush(session)
    return new World(place, session)
  }

  async act(kind: Kind, pick: number): Promise<void> {
    const liveBefore = this.live()
    try {
      await this.do(kind, pick)
    } catch (error) {
      ok(isSessionError(error), String(error))
      if (liveBefore === undefined) notEqual(error.code, 'BUSY')
    }
    await new Promise(setImmediate)
    // A crash, a fork and a reload end what ran.
    const isEnding = kind === 'crash' || kind === 'fork' || kind === 'reload'
    if (isEnding && liveBefore !== undefined) notEqual(this.live(), liveBefore)
    if (kind === 'crash') this.met.crashedLive ||= liveBefore !== undefined
    if (kind === 'fork') this.met.forkedLive ||= liveBefore !== undefined
    if (kind === 'cancel') this.met.cancelledLive ||= liveBefore !== undefined
    this.check(kind, pick)
  }

  /** Ends what runs; nobody is left waiting. */
  async end(): Promise<void> {
    const { ctx } = this.place
    const { session } = this
    this.stop.abort()
    do await ctx.compaction.idle(session)
    while (this.live() !== undefined)
    await Promise.all(this.results)
    const told = new Set(retold.get(ctx))
    for (const living of ctx.sessions) if (!told.has(living)) await ctx.sessions.dispose(living)
  }

  private live(): string | undefined {
    const open = this.session.open(compaction).find(({ status }) => status === 'live')
    return open && String(open.key)
  }

  private do(kind: Kind, pick: number): unknown {
    const { session } = this
    const compaction = this.service
    const key = `key ${pick % 3}`
    const text = `${kind} ${pick} ${filler}`
    switch (kind) {
      case 'say':
        return this.say(text)
      case 'label':
        return this.say(`FACT[${key}]: of ${pick}\n${text}`)
      case 'speak':
        return session.append('assistant/message', { parts: [{ type: 'text', text }] })
      case 'call':
        return call(session, 'call_0')
      case 'answer':
        return this.answerOne(pick)
      case 'step':
        return session.append(pick % 2 ? 'step/start' : 'step/end', {})
      case 'turn':
        return pick % 2
          ? session.append('turn/start', {})
          : session.append('turn/end', { reason: 'interrupted' })
      case 'pin':
        return compaction.pin(session, { key, text: `fact ${pick % 4}\nof two lines` })
      case 'unpin':
        return compaction.unpin(session, key)
      case 'compact':
        return this.compact(pick % 3 ? good : hostile[pick % hostile.length]!, pick)
      case 'hang':
        return this.compact(this.hanging.summarizer, pick)
      case 'sum':
        return pick % 3 ? this.hanging.answer(`sum ${pick}`) : this.hanging.fail(new TypeError('no'))
      case 'cancel':
        this.stop.abort()
        this.stop = new AbortController()
        return undefined
      case 'prune':
        return compaction.prune(session, { resultSizeBytesMax: 512, keepLast: pick % 3 })
      case 'flush':
        return this.flush()
      case 'crash':
        return session.kind === 'stored' ? this.resume(pick) : this.crash(pick)
      case 'parent':
        return this.goOnInParent(pick)
      case 'open':
        return session.append('deal/start', { id: `${pick % 2}` })
      case 'close':
        return session.append('deal/end', { id: `${pick % 2}` })
      case 'fork':
        return this.fork(pick)
      case 'reload':
        return this.reload()
    }
  }

  private say(text: string): void {
    this.session.append('user/message', { parts: [{ type: 'text', text, author: 'human' }] })
  }

  private answerOne(pick: number): void {
    const calls = [...this.session.log].filter((event) => isEvent(event, 'tool/call'))
    const one = calls[pick % Math.max(1, calls.length)]
    if (one) answer(this.session, one, `answer ${pick} ${filler.repeat(1 + 2 * (pick % 4))}`)
  }

  private compact(summarizer: Summarizer, pick: number): Promise<unknown> | undefined {
    const retain = pick % 5 === 4 ? {} : { retainMessages: pick % 4 }
    const options = { summarizer, ...retain, signal: this.stop.signal }
    const trigger = pick % 2 ? 'automatic' : 'manual'
    const running = this.service.compact(this.session, { ...options, trigger })
    this.results.push(running.then(judge, () => undefined))
    return summarizer === this.hanging.summarizer ? undefined : running
  }

  private crash(pick: number): void {
    const { log } = this.session
    const length = this.durable + (pick % (log.length - this.durable + 1))
    this.goOn(this.sessions.create({ seed: [...log.range(0, length - 1)] }))
  }

  /** The session is taken over, and what was not flushed is gone; or it ends as it should, and is resumed. */
  private async resume(pick: number): Promise<void> {
    const { ctx } = this.place
    const { session } = this
    const acknowledged = [...session.log.range(0, this.durable - 1)]
    if (pick % 2) {
      const lease = await ctx.sessionStorage.acquire(session.id, { claim: newClaim(), force: true })
      await lease.release()
    }
    await ctx.sessions.dispose(session)
    const resumed = await ctx.sessionPersistence.resume(session.id)
    equal(JSON.stringify([...resumed.log.range(0, this.durable - 1)]), JSON.stringify(acknowledged))
    this.goOn(resumed)
  }

  private fork(pick: number): void {
    const parent = this.session
    const before = seen(parent)
    const child = this.sessions.fork(parent, { through: pick % parent.log.length })
    equal(seen(parent), before)
    this.parent = { session: parent, hanging: this.hanging }
    this.goOn(child)
  }

  /** What runs in the parent ends there, and the child does not notice. */
  private async goOnInParent(pick: number): Promise<void> {
    if (this.parent === undefined) return
    const { session, hanging } = this.parent
    const before = seen(this.session)
    const wasLive = statuses(session).includes('live')
    if (pick % 3) hanging.answer(`sum of the parent ${pick}`)
    else hanging.fail(new TypeError('no'))
    session.append('user/message', { parts: [{ type: 'text', text: filler, author: 'human' }] })
    await new Promise(setImmediate)
    if (wasLive && !statuses(session).includes('live')) this.met.parentWentOn = true
    equal(seen(this.session), before)
    this.checkOne(session)
  }

  private async flush(): Promise<void> {
    const { log } = this.session
    const { length } = log
    if (this.session.kind === 'stored') await this.sessions.flush(this.session)
    this.durable = length
  }

  private goOn(session: Session): void {
    this.hanging = held()
    this.session = session
    // A boundary is written with the first event that follows it.
    this.durable = session.kind === 'stored' ? session.durableSeq + 1 : session.log.length
    this.known = []
  }

  private async reload(): Promise<void> {
    const { place } = this
    await place.plugin.dispose()
    equal(this.live(), undefined)
    place.plugin = await loadCompaction(place.ctx, place.config)
    this.service = place.ctx.compaction
  }

  /** What is derived of the same log by the same plugins is the same, and is not checked twice. */
  private check(kind: Kind, pick: number): void {
    const { session } = this
    const { log } = session
    this.checkLog()
    const state = `${session.id} ${log.length}`
    if (state === this.checked && kind !== 'reload') return
    this.checked = state
    this.checkOne(session)
    // Where a call is live, a child says that it goes on in its parent.
    const isCalling = session.open(toolCall).some(({ status }) => status === 'live')
    if (pick % 8 !== 0 || isCalling) return
    const { sessions } = this
    const child = sessions.fork(session)
    equal(seen(child), seen(session))
    this.results.push(sessions.dispose(child))
  }

  /** Asserted without `expect`, which would cost more than all the rest. */
  private checkOne(session: Session): void {
    const { sessions, service } = this
    const messages = session.messages()
    equal(complaints(messages).join(), '')
    const { facts, fates } = scan(session)
    const inForce = service.facts(session)
    equal(JSON.stringify(inForce.map(({ key, text }) => [key, text])), JSON.stringify([...facts]))
    const shown = new Set(systemTexts(session))
    for (const { role, parts } of messages) {
      for (const part of role === 'user' ? parts : []) {
        if (part.type === 'text' && part.author === 'human') shown.add(part.text.split('\n')[0]!)
      }
    }
    equal(inForce.filter(({ text }) => !shown.has(text)).length, 0)
    const { records } = session.read(compactions)
    equal(records.map(({ fate }) => fate).join(), fates.join())
    const live = statuses(session).filter((status) => status === 'live').length
    equal(live, fates.filter((fate) => fate === 'live').length)
    ok(live <= 1)
    equal(cutBy(session.log).join(), '')
    equal(seen(sessions.view(session.header, [...session.log])), JSON.stringify(messages))
    const applied = fates.filter((fate) => fate === 'applied').length
    this.met.starts = Math.max(this.met.starts, fates.length)
    this.met.applied = Math.max(this.met.applied, applied)
  }

  /** What was there is there, event for event. */
  private checkLog(): void {
    const { log } = this.session
    ok(log.length >= this.known.length)
    this.known.forEach((event, seq) => ok(log.at(seq) === event))
    for (const event of log.range(this.known.length)) this.known.push(event)
  }
}

function judge(result: CompactionResult): void {
  if (result.outcome === 'applied') equal(result.facts.missing.length, 0)
}
