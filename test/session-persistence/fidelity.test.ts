import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonValue, Session } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it } from 'vitest'
import { eventLines, segmentsOf, storedSeqs } from './files.ts'
import { say, startJournal, textsOf } from './host.ts'
import { upTo } from './batches.ts'
import { codeOf } from './refusal.ts'
import { scratch } from './scratch.ts'

let root: string
let ctx: Context
let session: Session
beforeEach(async () => {
  root = join(scratch(), 'root')
  ctx = await startJournal(root)
  session = await ctx.sessionPersistence.create({ id: 'a' })
})

/** The arguments of a tool call, from the log of a cold reader. */
async function roundTrip(values: readonly JsonValue[]): Promise<unknown[]> {
  session.append('turn/start', {})
  for (const value of values) session.append('tool/call', { callId: '', name: 'x', arguments: value })
  await ctx.sessions.dispose(session)
  const view = await ctx.sessionPersistence.inspect('a')
  return [...view.log].flatMap(({ type, data }) =>
    type === 'tool/call' ? [(data as { arguments: unknown }).arguments] : [],
  )
}

describe('what is appended comes back equal', () => {
  it('L01, L05: each event is one line, whatever separates lines elsewhere', async () => {
    const values = [
      'a\u2028b\u2029c\u0085d\vf\fg\rh\r\ni\nj\0k\x1bl\x7f',
      { 'key\n\r\u2028': '\t' },
      ['\n', '\r\n'],
    ]
    expect(await roundTrip(values)).toEqual(values)
    expect(eventLines(root, 'a')).toHaveLength(4)
    const [{ path }] = segmentsOf(root, 'a') as [ReturnType<typeof segmentsOf>[0]]
    // Header, empty batch, four events, commit.
    expect(readFileSync(path).filter((byte) => byte === 10)).toHaveLength(7)
  })

  it('L02, L11: lone surrogates and NUL', async () => {
    const values = ['a\ud83c', '\udff7b', 'a\u0000b', { '\ud800': '\udfff' }]
    expect(await roundTrip(values)).toEqual(values)
  })

  it('L06: an own key __proto__, and no prototype that it changes', async () => {
    const values = [JSON.parse('{"__proto__":{"x":1},"constructor":1,"toString":[]}') as JsonValue]
    expect(await roundTrip(values)).toEqual(values)
    expect(({} as { x?: unknown }).x).toBe(undefined)
  })

  it('L10, G2: the live value and the stored one are the same', async () => {
    const live = say(session, 'x')
    await ctx.sessions.dispose(session)
    expect((await ctx.sessionPersistence.inspect('a')).log.at(0)).toEqual(live)
  })

  it('B07: many tasks at once, and 210 KB among them: every line is whole and in its place', async () => {
    const large = 'x'.repeat(210_000)
    await Promise.all(
      upTo(8).map(async (task) => {
        for (const count of upTo(5)) {
          say(session, task === 3 && count === 2 ? large : `task ${task} ${count}`)
          if (count % 2) await ctx.sessions.flush(session)
          else await Promise.resolve()
        }
      }),
    )
    await ctx.sessions.dispose(session)
    const texts = textsOf(await ctx.sessionPersistence.inspect('a'))
    expect(texts).toHaveLength(40)
    expect(texts.filter((text) => text === large)).toHaveLength(1)
    expect(await storedSeqs(root, 'a')).toEqual(upTo(40))
  })

  it('an event that no batch can hold is refused at append, and the next one gets its seq', async () => {
    expect(await codeOf(() => say(session, 'x'.repeat(8_388_608)))).toBe('INVALID_PAYLOAD')
    expect(say(session, 'x'.repeat(8_000_000)).seq).toBe(0)
    await ctx.sessions.dispose(session)
    expect(await storedSeqs(root, 'a')).toEqual([0])
  })

  it('back pressure is told at append, and a flush makes room', async () => {
    const other = await startJournal(join(scratch(), 'root'), {
      pendingSizeBytesMax: 2_000,
      flushDelayMs: 1_000,
    })
    const pressed = await other.sessionPersistence.create({ id: 'a' })
    say(pressed, 'x'.repeat(1_500))
    expect(await codeOf(() => say(pressed, 'x'.repeat(1_500)))).toBe('BACK_PRESSURE')
    await other.sessions.flush(pressed)
    expect(say(pressed, 'x'.repeat(1_500)).seq).toBe(1)
  })
})
