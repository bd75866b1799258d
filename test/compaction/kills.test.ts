import { compaction as bracket, compactions } from '@tidemark/compaction'
import * as core from '@tidemark/session-core'
import type { Session } from '@tidemark/session-core'
import * as persistence from '@tidemark/session-persistence'
import { JournalStorage } from '@tidemark/session-persistence/journal'
import {
  crashStates,
  SimulatedDisk,
  type CrashState,
  type DiskImage,
} from '@tidemark/session-persistence/testkit'
import type {} from '@tidemark/session-persistence/cordis'
import { Context } from 'cordis'
import { describe, expect, it } from 'vitest'
import { complaints } from '../session-core/pairing.ts'
import { answer, call, loadCompaction, say, seen, stored, systemTexts } from './host.ts'
import { held, saying } from './summarizers.ts'

interface Hosted {
  readonly ctx: Context
  end(): Promise<void>
}

/** A host whose journal is on this disk. */
async function hostOn(disk: SimulatedDisk): Promise<Hosted> {
  const ctx = new Context()
  const fiber = await ctx.plugin(core, {})
  const storage = new JournalStorage({ root: '/journal', port: disk })
  const apply = (own: Context): void => void own.provide('sessionStorage', storage)
  await ctx.plugin({ name: 'disk', apply })
  await ctx.plugin(persistence, { enabled: true, flushDelayMs: 0 })
  await loadCompaction(ctx, { retainMessages: 2, attemptsMax: 2 })
  return { ctx, end: async () => (await fiber.dispose(), storage.close()) }
}

/** What was acknowledged when the disk had been changed so often. */
interface Acknowledged {
  readonly changes: number
  readonly length: number
}

/** A life with all that can happen to a compaction, flushed after every event. */
async function told(): Promise<{
  disk: SimulatedDisk
  from: number
  acknowledged: Acknowledged[]
  log: core.SessionEvent[]
}> {
  const disk = new SimulatedDisk({ isRecorded: true })
  const { ctx, end } = await hostOn(disk)
  const session = await ctx.sessionPersistence.create({ id: 'a' })
  const acknowledged: Acknowledged[] = []
  const flush = async (): Promise<void> => {
    await ctx.sessions.flush(session)
    acknowledged.push({ changes: disk.changes, length: session.durableSeq + 1 })
  }
  ctx.compaction.pin(session, { key: 'rule', text: 'never do X' })
  for (let turn = 0; turn < 4; turn++) say(session, `request ${turn}`)
  answer(session, call(session, 'big'), 'something large was found. '.repeat(60))
  say(session, 'CONSTRAINT[place]: only here')
  await flush()
  const from = disk.changes
  const { summarizer, answer: sum } = held()
  const running = ctx.compaction.compact(session, { summarizer })
  await flush()
  say(session, 'meanwhile')
  await flush()
  sum('a summary')
  await running
  await flush()
  say(session, 'more')
  await ctx.compaction.compact(session, { summarizer: saying(''), trigger: 'automatic' })
  await flush()
  answer(session, call(session, 'again'), 'something large was found. '.repeat(60))
  await ctx.compaction.prune(session, { resultSizeBytesMax: 512, keepLast: 0 })
  await flush()
  const log = stored(session)
  await end()
  return { disk, from, acknowledged, log }
}

/** What a plain scan says of the compactions that are in a log. */
function fatesIn(session: Session): string[] {
  const fates = new Map<string, string>()
  for (const event of session.log) {
    if (core.isEvent(event, 'compact/start')) fates.set(event.data.id, 'live')
    if (core.isEvent(event, 'compact/end')) fates.set(event.data.id, event.data.outcome)
    if (core.isEvent(event, 'session/resumed'))
      for (const [id, fate] of fates) if (fate === 'live') fates.set(id, 'orphaned')
  }
  return [...fates.values()]
}

/** The next life of a host on a disk as a crash left it. @returns how many events of the first life it found. */
async function resumed(
  image: DiskImage,
  log: readonly core.SessionEvent[],
): Promise<{ found: number; fates: string[] }> {
  const { ctx, end } = await hostOn(new SimulatedDisk({ image }))
  const session = await ctx.sessionPersistence.resume('a')
  const found = [...session.log].findIndex(({ type }) => type.startsWith('session/re'))
  expect(stored(session, found - 1)).toEqual(log.slice(0, found))
  const fates = fatesIn(session)
  expect(fates).not.toContain('live')
  expect(session.read(compactions).records.map(({ fate }) => fate)).toEqual(fates)
  expect(session.open(bracket).map(({ status }) => status)).toEqual(
    fates.filter((fate) => fate === 'orphaned'),
  )
  expect(complaints(session.messages())).toEqual([])
  const keys = ctx.compaction.facts(session).map(({ key }) => key)
  say(session, 'in the next life')
  say(session, 'and on')
  const result = await ctx.compaction.compact(session, { summarizer: saying('another summary') })
  expect(result).toMatchObject({ outcome: 'applied', facts: { present: keys, missing: [] } })
  expect(systemTexts(session)).toContain('never do X')
  await ctx.sessions.flush(session)
  const view = ctx.sessions.view(session.header, stored(session))
  expect(seen(view)).toBe(seen(session))
  await end()
  return { found, fates }
}

describe('a host that is killed', () => {
  it('D01, D05: at any write of a compaction’s life resumes, says what became of it, and compacts again', async () => {
    const { disk, from, acknowledged, log } = await told()
    const recording = disk.recording
    const states: CrashState[] = []
    for (const state of crashStates(recording, { seed: 7, from, statesMax: 160 })) states.push(state)
    const seenFates = new Set<string>()
    const lengths = new Set<number>()
    for (const { point, image } of states) {
      const { found, fates } = await resumed(image, log)
      const safe = acknowledged.findLast(({ changes }) => changes <= point)
      expect(found).toBeGreaterThanOrEqual(safe?.length ?? 0)
      seenFates.add(fates.join())
      lengths.add(found)
    }
    expect(states.length).toBeGreaterThan(50)
    // Each moment of it was met.
    expect([...seenFates].sort()).toEqual(['', 'applied', 'applied,failed', 'orphaned'])
    expect(lengths.size).toBeGreaterThan(5)
  }, 120_000)

  it('D01, D05: after any event of a compaction’s life resumes, and compacts again', async () => {
    const { log } = await told()
    const first = log.findIndex(({ type }) => type === 'compact/start')
    const fates = new Set<string>()
    const ctx = new Context()
    const fiber = await ctx.plugin(core, {})
    await loadCompaction(ctx, { retainMessages: 2 })
    for (let through = first - 1; through < log.length; through++) {
      const session = ctx.sessions.create({ seed: log.slice(0, through + 1) })
      expect(session.read(compactions).records.map(({ fate }) => fate)).toEqual(fatesIn(session))
      fates.add(fatesIn(session).join())
      say(session, 'after')
      say(session, 'and on')
      const result = await ctx.compaction.compact(session, { summarizer: saying('another') })
      expect(result).toMatchObject({ outcome: 'applied', facts: { missing: [] } })
    }
    expect([...fates].sort()).toEqual(['', 'applied', 'applied,failed', 'applied,orphaned', 'orphaned'])
    await fiber.dispose()
  })
})
