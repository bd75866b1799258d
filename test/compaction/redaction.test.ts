import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject, JsonValue, Redact, SessionView } from '@tidemark/session-core'
import * as persistence from '@tidemark/session-persistence'
import type {} from '@tidemark/session-persistence/cordis'
import { describe, expect, it } from 'vitest'
import { folderOf } from '../session-persistence/files.ts'
import { scratch } from '../session-persistence/scratch.ts'
import { answer, call, load, say, seen } from './host.ts'
import { doing, saying } from './summarizers.ts'

const secret = 'hunter2'

/** Replaces the secret in every text, keys included. */
function blank(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.replaceAll(secret, '[gone]')
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(blank)
  const entries = Object.entries(value as JsonObject).map(([key, inner]) => [
    key.replaceAll(secret, '[gone]'),
    blank(inner),
  ])
  return Object.fromEntries(entries) as JsonObject
}

/** The same, for a stream too: what may be the beginning of the secret is held back until the next piece. */
function blankStream(): Redact {
  let held = ''
  return (payload) => {
    const piece = payload as { kind?: string; text?: string }
    if (piece.kind !== 'text' || piece.text === undefined) return blank(payload)
    const text = (held + piece.text).replaceAll(secret, '[gone]')
    const length = [6, 5, 4, 3, 2, 1].find((count) => text.endsWith(secret.slice(0, count))) ?? 0
    held = text.slice(text.length - length)
    return { ...piece, text: text.slice(0, text.length - length) }
  }
}

const hosted = async (root: string, redact: Redact) => {
  const { ctx } = await load({ attemptsMax: 1 }, { redact })
  const window = { snapshotEvents: 20, retainEvents: 0, retainSizeBytes: 0, flushDelayMs: 1 }
  await ctx.plugin(persistence, { enabled: true, root, ...window })
  return ctx
}

/** A session into which the secret came in every way there is, closed. */
async function leaky(root: string, redact: Redact) {
  const ctx = await hosted(root, redact)
  const heard: string[] = []
  ctx.on('tidemark/event', (_session, event) => void heard.push(JSON.stringify(event)))
  const session = await ctx.sessionPersistence.create({ id: 'a' })
  session.append('turn/start', { meta: { note: [secret] } })
  const input = { deep: [{ [secret]: secret }], plain: secret }
  const asked = session.append('tool/call', { callId: 'c', name: 'env', arguments: input })
  answer(session, asked, `AWS_KEY=${secret}`)
  const failed = call(session, 'd')
  const error = [{ type: 'text', text: `denied for ${secret}` }] as const
  session.append('tool/result', { callId: 'd', callSeq: failed.seq, outcome: 'error', parts: error })
  session.append('step/start', {})
  for (const text of ['the key is hun', 'ter2, and hun', 'gry'])
    session.append('assistant/chunk', { kind: 'text', text })
  const reasoning = { type: 'reasoning', text: `so ${secret}`, signature: 'c2lnbmVk' } as const
  session.append('assistant/message', { parts: [reasoning, { type: 'text', text: secret }] })
  session.append('loose/event', { note: secret }, { ignorable: true })
  session.append('step/end', {})
  session.append('turn/end', { reason: 'completed' })
  for (let turn = 0; turn < 20; turn++) say(session, `request ${turn} ${secret}`)
  const summarized = await ctx.compaction.compact(session, { summarizer: saying(`They said ${secret}.`) })
  for (let turn = 0; turn < 20; turn++) say(session, `later ${turn}`)
  const throwing = doing(() => Promise.reject(new Error(`401 for ${secret}`)))
  const refused = await ctx.compaction.compact(session, { summarizer: throwing })
  await session.flush()
  await ctx.sessions.dispose(session)
  return {
    ctx,
    heard,
    outcomes: [summarized.outcome, refused.outcome],
    told: JSON.stringify([summarized, refused]),
  }
}

async function historyOf(view: SessionView): Promise<JsonObject[]> {
  const events: unknown[] = []
  let page = await view.history({})
  events.push(...page.events)
  while (page.next) events.push(...(page = await view.history(page.next)).events)
  return JSON.parse(JSON.stringify(events)) as JsonObject[]
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    statSync(join(folder, name)).isFile(),
  )

describe('a secret that the host’s redaction knows', () => {
  it('M08: is in no file, snapshots included, and in no event, from wherever it came: keys, errors, summaries', async () => {
    const root = join(scratch(), 'root')
    const { ctx, heard, outcomes, told } = await leaky(root, blankStream())
    expect(outcomes).toEqual(['applied', 'failed'])
    const names = filesIn(root)
    expect(names.filter((name) => name.includes('snapshot-'))).not.toEqual([])
    for (const name of names) expect(readFileSync(join(root, name)).includes(secret), name).toBe(false)
    const events = await historyOf(await ctx.sessionPersistence.inspect('a'))
    expect(JSON.stringify(events) + heard.join() + told).not.toContain(secret)

    const dataOf = (type: string) => events.filter((event) => event.type === type).map(({ data }) => data)
    expect(dataOf('tool/call')[0]).toEqual({
      callId: 'c',
      name: 'env',
      arguments: { deep: [{ '[gone]': '[gone]' }], plain: '[gone]' },
    })
    expect(dataOf('tool/result')).toMatchObject([
      { callId: 'c', callSeq: 1, parts: [{ type: 'text', text: 'AWS_KEY=[gone]' }] },
      { callId: 'd', outcome: 'error', parts: [{ text: 'denied for [gone]' }] },
    ])
    const pieces = dataOf('assistant/chunk').map((data) => (data as { text: string }).text)
    expect(pieces).toEqual(['the key is ', '[gone], and ', 'hungry'])
    expect(dataOf('assistant/message')[0]).toMatchObject({
      parts: [{ type: 'reasoning', text: 'so [gone]', signature: 'c2lnbmVk' }, { text: '[gone]' }],
    })
    expect(JSON.stringify(dataOf('compact/summary'))).toContain('They said [gone].')
  })

  it('M11: is gone in every form in which a store gives a session out, and alike in each', async () => {
    const root = join(scratch(), 'root')
    const { ctx } = await leaky(root, blank)
    const stored = ctx.sessionPersistence
    const view = await stored.inspect('a')
    const history = await historyOf(view)
    const followed: unknown[] = []
    const stream = stored.follow('a', { pollMs: 10 })
    while (followed.length < history.length) followed.push(...((await stream.next()).value?.events ?? []))
    await stream.return()
    expect(JSON.parse(JSON.stringify(followed))).toEqual(history)
    const fork = await stored.fork('a', { id: 'f' })
    expect((await historyOf(fork)).slice(0, history.length)).toEqual(history)
    await stored.salvage('a', { id: 's' })
    const salvaged = await stored.inspect('s')
    expect((await historyOf(salvaged)).slice(0, history.length)).toEqual(history)
    const resumed = await stored.resume('a')
    expect(seen(resumed)).toBe(seen(view))
    const lists = JSON.stringify([await stored.list(), await stored.verify('a')])
    const shown = [view, fork, salvaged, resumed].map(seen)
    expect(lists + shown.join()).not.toContain('hunter')
    for (const text of shown) expect(text).toContain('[gone]')
    for (const id of ['a', 'f', 's'])
      for (const name of filesIn(folderOf(root, id)))
        expect(readFileSync(join(folderOf(root, id), name)).includes('hunter'), name).toBe(false)
  })
})
