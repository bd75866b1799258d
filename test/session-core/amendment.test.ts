import { messagesOf, transcript, type Session } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { guestDefinitions } from './guest.ts'
import { define, startHost } from './host.ts'
import { complaints } from './pairing.ts'
import { codeOf } from './refusal.ts'
import { lines, speaker } from './speaker.ts'

let ctx: Context
let session: Session
let say: ReturnType<typeof speaker>

beforeEach(async () => {
  ctx = await startHost()
  await define(ctx, guestDefinitions)
  session = ctx.sessions.create()
  say = speaker(session)
})

const cut = (resultSeq: number, text: string, on = session): number =>
  on.append('cut/made', { resultSeq, parts: [{ type: 'text', text }] }).seq

function result(callSeq: number, text: string, outcome: 'ok' | 'error' = 'ok'): number {
  const parts = [{ type: 'text', text } as const]
  return session.append('tool/result', { callId: 'call_0', callSeq, outcome, parts }).seq
}

const call = (): number => session.append('tool/call', { callId: 'call_0', name: 'sh', arguments: {} }).seq

const shown = (on = session): string => JSON.stringify(on.messages())

/** Live, read cold, in a fork, from a snapshot: one answer. */
function everywhere(): string {
  const live = shown()
  const events = JSON.parse(JSON.stringify([...session.log])) as []
  expect(JSON.stringify(ctx.sessions.view(session.header, events).messages())).toBe(live)
  expect(shown(ctx.sessions.fork(session))).toBe(live)
  const { state } = session.snapshot().projections.get('transcript')!
  const restored = JSON.parse(JSON.stringify(state)) as Parameters<typeof messagesOf>[0]
  expect(JSON.stringify(messagesOf(restored))).toBe(live)
  expect(complaints(session.messages())).toEqual([])
  return live
}

describe('an amendment of a tool result', () => {
  it('shows its parts in the place of the result’s own; position, outcome and pairing stay', () => {
    say.user('a')
    const calls = [call(), call()]
    const first = result(calls[0]!, 'long one', 'error')
    result(calls[1]!, 'long two')
    say.user('b')
    const before = lines(session)
    cut(first, 'short')
    expect(lines(session)).toEqual(before)
    expect(everywhere()).toContain('short')
    expect(shown()).not.toContain('long one')
    expect(shown()).toContain('long two')
    expect(session.log.at(first)).toMatchObject({ data: { parts: [{ text: 'long one' }] } })
  })

  it('is replaced by a later one of the same result', () => {
    const seq = result(call(), 'long')
    cut(seq, 'first')
    cut(seq, 'second')
    expect(everywhere()).toContain('second')
    expect(shown()).not.toMatch(/long|first/)
  })

  it('changes a late result too, which keeps its heading', () => {
    say.turn()
    const seq = call()
    say.endTurn()
    const late = result(seq, 'long')
    const heading = lines(session).at(-1)!.split('long')[0]!
    cut(late, 'short')
    expect(everywhere()).not.toContain('"long"')
    expect(lines(session).at(-1)).toBe(`${heading}short`)
    cut(late, 'shorter')
    expect(lines(session).at(-1)).toBe(`${heading}shorter`)
  })

  it('of what is no result, is replaced, or is no event yet, changes nothing', () => {
    const said = say.user('a')
    const seq = call()
    const running = session.log.length - 1
    const before = shown()
    cut(typeof said === 'number' ? said : 0, 'short')
    cut(running, 'short')
    expect(shown()).toBe(before)
    const done = result(seq, 'long')
    session.append('sum/start', {})
    session.append('sum/note', { text: 'sum' })
    session.append('sum/end', { from: 0, through: done, applied: true })
    const replaced = shown()
    cut(done, 'short')
    expect(everywhere()).toBe(replaced)
    expect(codeOf(() => cut(session.log.length, 'short'))).toBe('INVALID_EVENT')
    expect(codeOf(() => cut(-1, 'short'))).toBe('INVALID_EVENT')
    expect(codeOf(() => cut(0.5, 'short'))).toBe('INVALID_EVENT')
  })

  it('in a fork leaves the parent alone, and one in the parent the fork', () => {
    const seq = result(call(), 'long')
    const child = ctx.sessions.fork(session)
    cut(seq, 'short', child)
    expect(shown()).toContain('long')
    expect(shown(child)).toContain('short')
    cut(seq, 'otherwise')
    expect(shown(child)).toContain('short')
    expect(shown(ctx.sessions.fork(session, { through: seq }))).toContain('long')
  })

  it('that empties a result leaves the note that stands for nothing', () => {
    const seq = result(call(), 'long')
    session.append('cut/made', { resultSeq: seq, parts: [] })
    expect(everywhere()).toContain('(no output)')
  })

  it('is found past what came after it, in a long transcript', () => {
    const seqs: number[] = []
    for (let round = 0; round < 200; round++) {
      say.user(`${round}`)
      seqs.push(result(call(), `long ${round}.`))
    }
    for (const seq of seqs) cut(seq, 'short')
    expect(everywhere()).not.toContain('long')
  })

  it('says so on its event, and is neither ignorable nor carried', async () => {
    const seq = result(call(), 'long')
    expect(session.log.at(cut(seq, 'short'))).toMatchObject({ replaces: true })
    const other = await startHost()
    const seed = [...session.log]
    expect(codeOf(() => other.sessions.create({ seed, carry: ['cut/made'] }))).toBe('UNKNOWN_TYPE')
    const events = { 'x/cut': { schema: z.any(), ignorable: true as const, amends: () => undefined } }
    expect(codeOf(() => ctx.sessions.define({ owner: 'x', events }))).toBe('INVALID_EVENT')
  })

  it.each<[string, () => unknown]>([
    ['throws', () => (undefined as unknown as { a: { b: never } }).a.b],
    ['shows no parts', () => ({ resultSeq: 0 })],
    ['shows a call', () => ({ resultSeq: 0, parts: [{ type: 'tool-call' }] })],
  ])('is refused when it %s', (_what, amends) => {
    ctx.sessions.define({
      owner: 'x',
      events: { 'x/cut': { schema: z.any(), amends: amends as () => undefined } },
    })
    say.user('a')
    expect(codeOf(() => session.append('x/cut' as never, {} as never))).toBe('INVALID_EVENT')
    expect(session.log.length).toBe(1)
  })

  it('raised the version of the transcript: a state that does not know late results is not gone on from', () => {
    expect(transcript.version).toBe(3)
  })
})
