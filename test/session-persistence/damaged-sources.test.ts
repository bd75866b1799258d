import { appendFileSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it } from 'vitest'
import { upTo } from './batches.ts'
import { folderOf, hashOf } from './files.ts'
import { say, startJournal, textsOf } from './host.ts'
import { codeOf, refusalOf } from './refusal.ts'
import { scratch } from './scratch.ts'

let root: string
let ctx: Context
const first = '000001-000.jsonl'
const segment = (): string => join(folderOf(root, 'a'), first)

beforeEach(async () => {
  root = scratch()
  ctx = await startJournal(root)
})

/** A closed session of so many messages, each a batch of its own or all one. */
async function stored(count: number, isOneBatch = false): Promise<void> {
  const session = await ctx.sessionPersistence.create({ id: 'a' })
  for (const index of upTo(count)) {
    say(session, `text ${index}`)
    if (!isOneBatch) await session.flush()
  }
  await ctx.sessions.dispose(session)
}

const dropHeads = (): void => {
  for (const name of readdirSync(folderOf(root, 'a')))
    if (name.startsWith('head-')) rmSync(join(folderOf(root, 'a'), name))
}

/** Changes the bytes of the session, and tells where the line of a seq began. */
function damage(seq: number, change: (before: Buffer, at: number) => Buffer): number {
  const bytes = readFileSync(segment())
  const at = bytes.indexOf(`{"seq":${seq},`)
  writeFileSync(segment(), change(bytes, at))
  return at
}

const zeros = (bytes: Buffer, at: number): Buffer =>
  Buffer.concat([bytes.subarray(0, at), Buffer.alloc(512), bytes.subarray(at)])
const cutJson = (bytes: Buffer, at: number): Buffer =>
  Buffer.concat([bytes.subarray(0, at + 20), bytes.subarray(bytes.indexOf(10, at))])

describe('A10: a source whose end is torn', () => {
  it('is forked at any seq, and as a whole, with or without a head; it is neither changed nor resumed', async () => {
    await stored(5)
    for (const isProven of [true, false]) {
      if (!isProven) dropHeads()
      appendFileSync(segment(), '{"seq":5,"time":17')
      const before = [hashOf(root, 'a'), readdirSync(folderOf(root, 'a'))]
      for (const through of [...upTo(5), undefined]) {
        const id = `${isProven} ${through}`
        const child = await ctx.sessionPersistence.fork('a', {
          id,
          ...(through !== undefined && { through }),
        })
        const texts = upTo((through ?? 4) + 1).map((index) => `text ${index}`)
        expect(textsOf(child)).toEqual(texts)
        expect(child.header.parent).toEqual({ id: 'a', seq: through ?? 4 })
        await ctx.sessions.dispose(child)
        expect(textsOf(await ctx.sessionPersistence.inspect(id))).toEqual(texts)
        expect(await ctx.sessionPersistence.verify(id)).toMatchObject({ kind: 'intact' })
      }
      expect(await codeOf(() => ctx.sessionPersistence.fork('a', { id: 'x', through: 5 }))).toBe(
        'INVALID_SEQ',
      )
      expect([hashOf(root, 'a'), readdirSync(folderOf(root, 'a'))]).toEqual(before)
    }
  })
})

describe('A10: a source with a damaged line 20 of 40', () => {
  it.each([
    ['a batch each', false],
    ['one batch', true],
  ])('(%s) is forked before that where a batch ends, and refused across it', async (_, isOneBatch) => {
    await stored(40, isOneBatch)
    damage(20, cutJson)
    const before = hashOf(root, 'a')
    const intactThrough = isOneBatch ? -1 : 19
    const { sessionPersistence: persistence } = ctx
    for (const ask of [
      () => persistence.fork('a', { id: 'x', through: 20 }),
      () => persistence.fork('a', { id: 'x' }),
      () => persistence.inspect('a'),
      () => persistence.resume('a'),
    ]) {
      const { code, details } = await refusalOf(ask)
      expect([code, details.rule, details.segment, details.intactThrough]).toEqual([
        'CORRUPT',
        'R3',
        first,
        intactThrough,
      ])
    }
    for (const through of [10, 19]) {
      if (isOneBatch) {
        expect(await codeOf(() => persistence.fork('a', { id: 'x', through }))).toBe('CORRUPT')
        continue
      }
      const child = await persistence.fork('a', { id: `c${through}`, through })
      expect(textsOf(child)).toEqual(upTo(through + 1).map((index) => `text ${index}`))
    }
    expect(hashOf(root, 'a')).toBe(before)
    expect([...ctx.sessions].map(({ id }) => id)).toEqual(isOneBatch ? [] : ['c10', 'c19'])
  })
})

describe('A04: 512 NUL bytes between the lines of 100 messages', () => {
  it.each([
    ['a batch each', false, true],
    ['a batch each, and no head', false, false],
    ['one batch', true, true],
  ])(
    '(%s) are told alike by whoever reads, and none shows what comes after',
    async (_, isOneBatch, isProven) => {
      await stored(100, isOneBatch)
      const at = damage(50, zeros)
      if (!isProven) dropHeads()
      const intactThrough = isOneBatch ? -1 : 49
      const { sessionPersistence: persistence } = ctx
      const found = []
      for (const ask of [
        () => persistence.inspect('a'),
        () => persistence.resume('a'),
        () => persistence.fork('a', { id: 'x' }),
        async () => {
          for await (const _batch of persistence.follow('a'));
        },
      ]) {
        const { code, details } = await refusalOf(ask)
        found.push([code, details.rule, details.segment, details.offset, details.intactThrough])
      }
      expect(found).toEqual(found.map(() => ['CORRUPT', 'R3', first, at, intactThrough]))
      expect(await persistence.verify('a')).toMatchObject({
        kind: 'damaged',
        rule: 'R3',
        offset: at,
        intactThrough,
      })
      expect(await persistence.list()).toMatchObject({ sessions: [{ id: 'a', status: 'damaged' }] })
      if (isOneBatch) return
      expect(textsOf(await persistence.inspect('a', { through: 49 }))).toEqual(
        upTo(50).map((index) => `text ${index}`),
      )
    },
  )
})
