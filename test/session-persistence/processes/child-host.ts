import { once } from 'node:events'
import { hostname } from 'node:os'
import * as core from '@tidemark/session-core'
import { isSessionError, type Session } from '@tidemark/session-core'
import type {} from '@tidemark/session-core/cordis'
import * as persistence from '@tidemark/session-persistence'
import type {} from '@tidemark/session-persistence/cordis'
import { JournalStorage, systemPort, type JournalPort } from '@tidemark/session-persistence/journal'
import { Context } from 'cordis'
import { textOf, type Line, type Written } from './line.ts'

/** When a host takes a snapshot, and when its journal begins another segment. */
export interface Limits {
  readonly snapshotEvents: number
  readonly segmentSizeBytesMax: number
}

/** What a host in a process of its own is told when it starts. */
export interface HostTerms {
  readonly root: string
  readonly durability?: 'lazy' | 'strict'
  /** Default: those of a host, which no short story comes to. */
  readonly limits?: Limits
  /** A planted fault: every sync returns at once and does nothing, so that it acknowledges too early. */
  readonly isUnsynced?: boolean
}

/** One write to a pipe: it is there as a whole when the call returns, whatever happens next. */
export const tell = (line: Line): boolean => process.stdout.write(`${JSON.stringify(line)}\n`)

/** The terms that the parent gave, and a host in this process. */
export async function startHost<T extends HostTerms>(): Promise<{ ctx: Context; terms: T }> {
  const terms = JSON.parse(process.argv[2] ?? '') as T
  const { root, durability, limits, isUnsynced = false } = terms
  const { segmentSizeBytesMax, snapshotEvents } = limits ?? {}
  const port = isUnsynced ? withoutSync(systemPort) : systemPort
  const storage = new JournalStorage({ root, port, segmentSizeBytesMax, ...(durability && { durability }) })
  const ctx = new Context()
  await ctx.plugin(core)
  await ctx.plugin({
    name: 'journal-of-a-child',
    apply: (inner: Context) => void inner.provide('sessionStorage', storage),
  })
  await ctx.plugin(persistence, { enabled: true, flushDelayMs: 0, ...(snapshotEvents && { snapshotEvents }) })
  return { ctx, terms }
}

/** Says that everything is loaded, and waits until the parent lets it go on. */
export async function waitForGo(): Promise<void> {
  const { pid } = process
  tell({ told: 'ready', pid, host: hostname(), startedAt: Math.round(performance.timeOrigin) })
  await once(process.stdin, 'data')
  process.stdin.pause().unref()
}

/** Appends messages in one go and flushes them: one batch. */
export async function write(ctx: Context, session: Session, texts: readonly Omit<Written, 'seq'>[]) {
  const { id } = session
  const first = session.log.length
  const events = texts.map((each, index) => ({ seq: first + index, ...each }))
  tell({ told: 'writing', id, events })
  for (const each of events) {
    session.append('user/message', { parts: [{ type: 'text', text: textOf(each), author: 'agent' }] })
  }
  await ctx.sessions.flush(session)
  tell({ told: 'acknowledged', id, events })
}

/** Tells of a refusal; anything else that is thrown is thrown on. */
export function tellRefusal(error: unknown): void {
  if (!isSessionError(error)) throw error
  const { code, details } = error
  tell({ told: 'refused', code, ...(details.holder && { holder: details.holder }) })
}

function withoutSync(port: JournalPort): JournalPort {
  return {
    ...port,
    syncFolder: async () => undefined,
    open: async (path, how) =>
      new Proxy(await port.open(path, how), {
        get(file, key) {
          if (key === 'sync') return async () => undefined
          const value: unknown = Reflect.get(file, key)
          return typeof value === 'function' ? (value.bind(file) as unknown) : value
        },
      }),
  }
}
