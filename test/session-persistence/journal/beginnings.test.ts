import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { JournalStorage, systemPort } from '@tidemark/session-persistence/journal'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it } from 'vitest'
import { folderOf } from '../files.ts'
import { say, startJournal, textsOf } from '../host.ts'
import { codeOf, refusalOf } from '../refusal.ts'
import { scratch } from '../scratch.ts'

let root: string
let ctx: Context
/** What the segment of a session with one event holds, by line. */
let lines: string[]
const first = '000001-000.jsonl'

beforeEach(async () => {
  root = scratch()
  ctx = await startJournal(root)
  for (const id of ['a', 'other']) {
    const session = await ctx.sessionPersistence.create({ id })
    say(session, 'one')
    await session.flush()
    await ctx.sessions.dispose(session)
  }
  lines = readFileSync(join(folderOf(root, 'a'), first), 'utf8').split(/(?<=\n)/)
})

/** The session has these bytes, and nothing else that could prove more. */
function leave(bytes: string): void {
  for (const name of readdirSync(folderOf(root, 'a')))
    if (name !== first) rmSync(join(folderOf(root, 'a'), name))
  writeFileSync(join(folderOf(root, 'a'), first), bytes)
  rmSync(join(root, 'index'), { recursive: true })
}

const statuses = async (): Promise<string[]> =>
  (await ctx.sessionPersistence.list()).sessions.map(({ id, status }) => `${id} ${status}`).sort()

describe('C06: a session whose first segment holds', () => {
  it('no bytes is damaged: no crash leaves that, so what was acknowledged is gone, and nobody takes its place', async () => {
    leave('')
    expect(await statuses()).toEqual(['a damaged', 'other ok'])
    const { sessionPersistence: stored } = ctx
    for (const ask of [() => stored.inspect('a'), () => stored.resume('a'), () => stored.fork('a')]) {
      const { code, details } = await refusalOf(ask)
      expect([code, details.rule, details.segment, details.offset]).toEqual(['CORRUPT', 'R8', first, 0])
    }
    expect(await codeOf(() => stored.create({ id: 'a' }))).toBe('EXISTS')
    expect(await stored.verify('a')).toMatchObject({ kind: 'damaged', intactThrough: -1 })
    expect(readdirSync(folderOf(root, 'a'))).toEqual([first])
    // It stands in nobody's way, and an operator gives the id free.
    expect(textsOf(await stored.resume('other'))).toEqual(['one'])
    await stored.remove('a')
    expect((await stored.create({ id: 'a' })).log.length).toBe(0)
  })

  it('a header cut short is damaged likewise', async () => {
    leave(lines[0]!.slice(0, 100))
    expect(await statuses()).toEqual(['a damaged', 'other ok'])
    expect(await codeOf(() => ctx.sessionPersistence.resume('a'))).toBe('CORRUPT')
    expect(await codeOf(() => ctx.sessionPersistence.create({ id: 'a' }))).toBe('EXISTS')
  })

  it('only a header is empty, and goes on', async () => {
    leave(lines[0]!)
    expect(await statuses()).toEqual(['a ok', 'other ok'])
    const view = await ctx.sessionPersistence.inspect('a')
    expect([view.log.length, view.rest]).toEqual([0, undefined])
    expect(await codeOf(() => ctx.sessionPersistence.create({ id: 'a' }))).toBe('EXISTS')
    const session = await ctx.sessionPersistence.resume('a')
    say(session, 'anew')
    await session.flush()
    expect(textsOf(await ctx.sessionPersistence.inspect('a'))).toEqual(['anew'])
  })

  it('a header and its empty batch is empty; an event that was cut short after it is told and set aside', async () => {
    const [header, commit, event] = lines as [string, string, string]
    leave(`${header}${commit}${event.slice(0, 20)}`)
    expect(await statuses()).toEqual(['a ok', 'other ok'])
    const view = await ctx.sessionPersistence.inspect('a')
    const offset = header.length + commit.length
    expect(view.log.length).toBe(0)
    expect(view.rest).toEqual({ kind: 'torn', segment: first, offset, sizeBytes: 20 })
    expect(await codeOf(() => ctx.sessionPersistence.create({ id: 'a' }))).toBe('EXISTS')
    const session = await ctx.sessionPersistence.resume('a')
    expect([...session.log].map(({ type }) => type)).toEqual(['session/recovered', 'session/resumed'])
  })

  it('a header and an event without the batch between them is refused: a session is born with that batch', async () => {
    leave(`${lines[0]!}${lines[2]!.slice(0, 20)}`)
    const { code, details } = await refusalOf(() => ctx.sessionPersistence.resume('a'))
    expect([code, details.rule, details.intactThrough]).toEqual(['CORRUPT', 'R7', -1])
    const storage = new JournalStorage({ root, port: systemPort })
    expect(await storage.verify('a')).toMatchObject({ kind: 'damaged', rule: 'R7' })
    await ctx.sessionPersistence.repair('a', { acceptLossAfter: -1 })
    expect((await ctx.sessionPersistence.resume('a')).log.length).toBeGreaterThan(0)
  })
})
