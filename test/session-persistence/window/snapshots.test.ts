import { readFileSync, readdirSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Context } from 'cordis'
import { describe, expect, it } from 'vitest'
import { folderOf, segmentsOf } from '../files.ts'
import { startJournal } from '../host.ts'
import { codeOf, refusalOf } from '../refusal.ts'
import { scratch } from '../scratch.ts'
import { derived, plugin, seeded, talk, tally } from './told.ts'

const settings = { snapshotEvents: 400, retainEvents: 0 }
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const snapshotsOf = (root: string, id: string): string[] =>
  readdirSync(folderOf(root, id))
    .filter((name) => name.startsWith('snapshot-'))
    .sort((a, b) => Number(a.split('-')[1]) - Number(b.split('-')[1]))
    .map((name) => join(folderOf(root, id), name))

async function host(root: string): Promise<Context> {
  const ctx = await startJournal(root, settings)
  ctx.sessions.define(plugin)
  return ctx
}

/** A closed session with two snapshots, and what it derives. */
async function stored(root: string, id = 'a') {
  const ctx = await host(root)
  const session = await ctx.sessionPersistence.create({ id })
  const random = seeded(11)
  talk(session, 500, random)
  await ctx.sessions.dispose(session)
  return { ctx, truth: await growing(ctx, id, random) }
}

async function growing(ctx: Context, id: string, random: () => number) {
  for (let round = 0; round < 3; round++) {
    const session = await ctx.sessionPersistence.resume(id)
    talk(session, session.log.length + 900, random)
    await session.flush()
    await ctx.sessions.dispose(session)
  }
  return plain(derived(await ctx.sessionPersistence.inspect(id)))
}

describe('a snapshot that is not what it was', () => {
  it.each([
    ['all zeros', (path: string) => writeFileSync(path, Buffer.alloc(statSync(path).size))],
    ['cut short', (path: string) => truncateSync(path, statSync(path).size - 1)],
    ['empty', (path: string) => truncateSync(path, 0)],
    ['longer', (path: string) => writeFileSync(path, Buffer.concat([readFileSync(path), Buffer.from([0])]))],
    ['gone', (path: string) => rmSync(path)],
    ['text', (path: string) => writeFileSync(path, '{"seq":1}')],
  ])('G37: %s: the log is read instead, or the one before', async (_, damage) => {
    const root = scratch()
    const { ctx, truth } = await stored(root)
    const paths = snapshotsOf(root, 'a')
    expect(paths).toHaveLength(2)
    damage(paths[1] as string)
    expect(plain(derived(await ctx.sessionPersistence.inspect('a')))).toEqual(truth)
    damage(paths[0] as string)
    expect(plain(derived(await ctx.sessionPersistence.inspect('a')))).toEqual(truth)
    const resumed = await ctx.sessionPersistence.resume('a')
    expect(resumed.read(tally)).toEqual({ ...(truth as { tally: object }).tally, ...resumed.read(tally) })
  })

  it('G37: a bit that is flipped anywhere in it changes nothing that is derived', async () => {
    const root = scratch()
    const { ctx, truth } = await stored(root)
    const [older, newer] = snapshotsOf(root, 'a') as [string, string]
    rmSync(older)
    const bytes = readFileSync(newer)
    for (let at = 0; at < bytes.length; at += Math.ceil(bytes.length / 60)) {
      const flipped = Buffer.from(bytes)
      flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 8))
      writeFileSync(newer, flipped)
      expect(plain(derived(await ctx.sessionPersistence.inspect('a')))).toEqual(truth)
    }
  })

  it('G37: one that is ahead of the log proves that the log lost what was durable', async () => {
    const root = scratch()
    const { ctx } = await stored(root)
    const newest = segmentsOf(root, 'a').at(-1)
    const path = newest?.path ?? ''
    const lines = newest?.lines ?? []
    const commits = lines.flatMap((line, index) => (line.startsWith('{"commit":') ? [index] : []))
    const kept = lines.slice(0, (commits.at(-2) ?? 0) + 1)
    writeFileSync(path, `${kept.join('\n')}\n`)
    for (const name of readdirSync(folderOf(root, 'a')))
      if (name.startsWith('head-')) rmSync(join(folderOf(root, 'a'), name))
    const refused = await refusalOf(() => ctx.sessionPersistence.resume('a'))
    expect([refused.code, refused.details.rule]).toEqual(['CORRUPT', 'R3'])
  })

  it('one whose projection has another version serves the others, and that one is loaded from history', async () => {
    const root = scratch()
    const { truth } = await stored(root)
    const ctx = await startJournal(root, settings)
    const version2 = { ...tally, version: 2 }
    ctx.sessions.define({ ...plugin, projections: [version2] })
    const resumed = await ctx.sessionPersistence.resume('a')
    expect(resumed.log.base).toBeGreaterThan(0)
    expect(resumed.messages().length).toBeGreaterThan(0)
    expect(await codeOf(() => resumed.read(version2))).toBe('NOT_LOADED')
    await resumed.load(version2)
    const { 'session/resumed': boundaries = 0, ...others } = resumed.read(version2)
    const { 'session/resumed': before = 0, ...before2 } = (truth as { tally: Record<string, number> }).tally
    expect([others, boundaries]).toEqual([before2, before + 1])
  })

  it('what a crash left of one is removed by the next', async () => {
    const root = scratch()
    const { ctx } = await stored(root)
    const [path] = snapshotsOf(root, 'a') as [string]
    const left = join(folderOf(root, 'a'), 'snapshot-tmp-0011223344556677')
    renameSync(path, left)
    const session = await ctx.sessionPersistence.resume('a')
    talk(session, session.log.length + 900, seeded(1))
    await session.flush()
    await ctx.sessions.dispose(session)
    expect(readdirSync(folderOf(root, 'a'))).not.toContain('snapshot-tmp-0011223344556677')
    expect(snapshotsOf(root, 'a')).toHaveLength(2)
  })
})
