import { copyFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  defineProjection,
  transcript,
  type Projection,
  type Session,
  type SessionView,
} from '@tidemark/session-core'
import { JournalStorage, systemPort } from '@tidemark/session-persistence/journal'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it } from 'vitest'
import { decode, encodePieces, parseMessagePack } from '../../../packages/session-persistence/src/msgpack.ts'
import { newClaim, upTo } from '../batches.ts'
import { folderOf, segmentsOf } from '../files.ts'
import { reported, say, startJournal } from '../host.ts'
import { codeOf } from '../refusal.ts'
import { scratch } from '../scratch.ts'
import { derived, plugin, seeded, talk, tally, wholeHistory } from './told.ts'

const settings = { snapshotEvents: 400, retainEvents: 0 }
const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T
const others = { ...plugin, projections: [] }

let root: string
beforeEach(() => {
  root = scratch()
})

async function host(projection: Projection<Readonly<Record<string, number>>> = tally): Promise<Context> {
  const ctx = await startJournal(root, settings)
  ctx.sessions.define({ ...others, projections: [projection] })
  return ctx
}

const snapshotsOf = (id: string): string[] =>
  readdirSync(folderOf(root, id))
    .filter((name) => name.startsWith('snapshot-'))
    .sort((a, b) => Number(a.split('-')[1]) - Number(b.split('-')[1]))

const dropSnapshots = (id: string, names = snapshotsOf(id)): void => {
  for (const name of names) rmSync(join(folderOf(root, id), name))
}

/** A closed session with one snapshot. */
async function store(ctx: Context, id = 'a'): Promise<void> {
  const session = await ctx.sessionPersistence.create({ id })
  talk(session, 500, seeded(11))
  await ctx.sessions.dispose(session)
  const resumed = await ctx.sessionPersistence.resume(id)
  talk(resumed, 1_500, seeded(12))
  await resumed.flush()
  await ctx.sessions.dispose(resumed)
  dropSnapshots(id, snapshotsOf(id).slice(0, -1))
  expect(snapshotsOf(id)).toHaveLength(1)
}

/** What a fold of all events derives, in a session that knows of no snapshot. */
async function folded(view: SessionView): Promise<SessionView> {
  const events = plain(await wholeHistory(view))
  const ctx = await host()
  return ctx.sessions.view(view.header, events)
}

interface State {
  version: number
  state: unknown
}

/** The one snapshot with another state of a projection in it, written by the storage itself. */
async function restate(name: string, change: (known: State) => State): Promise<void> {
  const storage = new JournalStorage({ root, port: systemPort })
  const found = await storage.snapshots.load('a')
  const content = parseMessagePack(found!.content) as { projections: Record<string, State> }
  const { state, ...known } = content.projections[name]!
  const changed = change({ ...known, state: decode(state as Uint8Array) })
  content.projections[name] = { ...known, ...changed, state: Buffer.concat([...encodePieces(changed.state)]) }
  const lease = await storage.acquire('a', { claim: newClaim() })
  await storage.snapshots.save(lease, { at: found!.at, content: Buffer.concat([...encodePieces(content)]) })
  await storage.close()
}

const wrong = { 'user/message': -1_000_000 }

describe('a state in a snapshot', () => {
  it.each([
    ['older', -1],
    ['newer', 1],
  ])('N08: of a plugin’s %s version is not used: loaded, it is a fold of the whole log', async (_, step) => {
    await store(await host())
    await restate('tally', ({ version }) => ({ version: version + step, state: wrong }))
    const ctx = await host()
    const inspected = await ctx.sessionPersistence.inspect('a')
    const resumed = await ctx.sessionPersistence.resume('a')
    for (const view of [inspected, resumed]) {
      expect(view.log.base).toBeGreaterThan(0)
      expect(await codeOf(() => view.read(tally))).toBe('NOT_LOADED')
      await view.load(tally)
      expect(plain(derived(view))).toEqual(plain(derived(await folded(view))))
    }
  })

  it.each([
    ['older', -1],
    ['newer', 1],
  ])('N08: of core’s %s version leaves the snapshot unused: the log is read', async (_, step) => {
    await store(await host())
    await restate('transcript', ({ version }) => ({ version: version + step, state: transcript.init() }))
    const ctx = await host()
    for (const view of [
      await ctx.sessionPersistence.inspect('a'),
      await ctx.sessionPersistence.resume('a'),
      await ctx.sessionPersistence.fork('a', { id: 'c' }),
    ])
      expect(plain(derived(view))).toEqual(plain(derived(await folded(view))))
  })

  it('N08: of the same version is what is read: nothing is folded for it', async () => {
    await store(await host())
    await restate('tally', ({ version }) => ({ version, state: wrong }))
    await restate('transcript', ({ version }) => ({ version, state: transcript.init() }))
    const view = await (await host()).sessionPersistence.inspect('a')
    expect(view.read(tally)['user/message']).toBe(-1_000_000)
    expect(view.messages()).toEqual([])
  })
})

describe('a snapshot', () => {
  it('N08: of another session’s id is not used, under its own name or under the one that is looked for', async () => {
    const ctx = await host()
    await store(ctx)
    await store(ctx, 'b')
    const [name] = snapshotsOf('a') as [string]
    const [foreign] = snapshotsOf('b') as [string]
    for (const as of [foreign, name]) {
      dropSnapshots('a')
      copyFileSync(join(folderOf(root, 'b'), foreign), join(folderOf(root, 'a'), as))
      const view = await ctx.sessionPersistence.inspect('a')
      expect(plain(derived(view))).toEqual(plain(derived(await folded(view))))
    }
  })

  it('N08: of a log with another digest is not used: of an earlier session of the same id, or under another seq', async () => {
    const ctx = await host()
    await store(ctx)
    const [name] = snapshotsOf('a') as [string]
    const kept = join(scratch(), name)
    copyFileSync(join(folderOf(root, 'a'), name), kept)
    await ctx.sessionPersistence.remove('a')
    await store(ctx)
    const [other] = snapshotsOf('a') as [string]
    expect(other).not.toBe(name)
    expect(other.split('-')[1]).toBe(name.split('-')[1])
    const higher = other.replace(/^snapshot-\d+/, 'snapshot-9999')
    for (const as of [name, other, higher]) {
      dropSnapshots('a')
      copyFileSync(kept, join(folderOf(root, 'a'), as))
      const view = await ctx.sessionPersistence.inspect('a')
      expect(view.log.length).toBeGreaterThanOrEqual(1_500)
      expect(plain(derived(view))).toEqual(plain(derived(await folded(view))))
    }
  })

  it('N08: of a parent holds in its forks, since no state can rest on whose log it is', async () => {
    const heard = defineProjection<readonly unknown[]>({
      name: 'heard',
      version: 1,
      init: () => [],
      apply: (state, event, context) => {
        const data = Object.entries(context).filter(([, value]) => typeof value !== 'function')
        return [...state, { data, isFork: context.beginsFork(event) }]
      },
    })
    const ctx = await host()
    ctx.sessions.define({ owner: 'heard', projections: [heard] })
    const parent = await ctx.sessionPersistence.create({ id: 'a', meta: { of: 'a' } })
    for (const _ of upTo(30)) {
      for (const index of upTo(20)) say(parent, `${index} ${'x'.repeat(100)}`)
      await parent.flush()
      await new Promise((resolve) => setImmediate(resolve))
    }
    await expect.poll(() => parent.log.base).toBeGreaterThan(0)
    const forks = [await ctx.sessionPersistence.fork(parent, { id: 'living' })]
    await ctx.sessions.dispose(parent)
    forks.push(await ctx.sessionPersistence.fork('a', { id: 'stored', meta: { of: 'stored' } }))
    say(forks[1]!, 'more')
    forks.push(await ctx.sessionPersistence.fork('stored', { id: 'of a fork' }))
    forks.push(await ctx.sessionPersistence.fork('a', { id: 'early', through: 30 }))
    for (const fork of forks) {
      const read = fork.read(heard)
      expect(plain(read)).toEqual(plain((await folded(fork)).read(heard)))
      const begun = (fork.header.forkedAt ?? []).map((cut) => cut + 1)
      expect(read.flatMap((each, seq) => ((each as { isFork: boolean }).isFork ? [seq] : []))).toEqual(begun)
    }
  })

  it('N08: of what a repair gave up is not used, and does not stand in the way of later ones', async () => {
    const ctx = await host()
    const random = seeded(11)
    /** Appends in small batches, as a host does that lives for long. */
    const grow = async (session: Session, length: number): Promise<void> => {
      while (session.log.length < length) {
        talk(session, session.log.length + 50, random)
        await session.flush()
      }
      await ctx.sessions.dispose(session)
    }
    await grow(await ctx.sessionPersistence.create({ id: 'a' }), 2_500)
    const before = snapshotsOf('a')
    const { path, lines } = segmentsOf(root, 'a')[0]!
    const at = lines.findIndex((line) => line.startsWith('{"seq":3') && line.includes('"data"'))
    lines[at] = lines[at]!.replace('"data"', '"dada"')
    writeFileSync(path, `${lines.join('\n')}\n`)
    const verdict = await ctx.sessionPersistence.verify('a')
    const { intactThrough = -1 } = verdict as { intactThrough?: number }
    expect(verdict).toMatchObject({ kind: 'damaged', rule: 'R3' })
    await ctx.sessionPersistence.repair('a', { acceptLossAfter: intactThrough })
    expect(snapshotsOf('a')).toEqual(before)

    const resumed = await ctx.sessionPersistence.resume('a')
    expect(resumed.log.at(intactThrough + 1).type).toBe('session/recovered')
    await grow(resumed, 1_500)
    const after = snapshotsOf('a')
    expect(after.filter((name) => before.includes(name))).toEqual([])
    const view = await ctx.sessionPersistence.inspect('a')
    expect(view.log.base).toBe(Number(after.at(-1)?.split('-')[1]) + 1)
    expect(plain(derived(view))).toEqual(plain(derived(await folded(view))))
  })

  it('C10: of 28 KB of zeros is told and set aside: the log is read, and what is stored next holds all of it', async () => {
    const ctx = await host()
    await store(ctx)
    const [name] = snapshotsOf('a') as [string]
    writeFileSync(join(folderOf(root, 'a'), name), Buffer.alloc(28_672))
    const truth = plain(derived(await folded(await ctx.sessionPersistence.inspect('a'))))
    expect(truth.messages.length).toBeGreaterThan(20)
    expect(plain(derived(await ctx.sessionPersistence.inspect('a')))).toEqual(truth)
    const resumed = await ctx.sessionPersistence.resume('a')
    talk(resumed, resumed.log.length + 900, seeded(13))
    await resumed.flush()
    await ctx.sessions.dispose(resumed)
    expect(reported(ctx)).toMatchObject([{ code: 'CORRUPT', details: { sessionId: 'a', segment: name } }])

    const aside = readdirSync(join(folderOf(root, 'a'), 'recovered'))
    expect(aside.map((each) => each.startsWith(`${name}.`))).toEqual([true])
    expect(snapshotsOf('a')).not.toContain(name)
    expect(snapshotsOf('a').length).toBeGreaterThan(0)
    const again = await ctx.sessionPersistence.inspect('a')
    expect(again.log.base).toBeGreaterThan(1_500)
    const whole = plain(derived(await folded(again)))
    expect(plain(derived(again))).toEqual(whole)
    expect(whole.messages.slice(0, 10)).toEqual(truth.messages.slice(0, 10))
  })
})
