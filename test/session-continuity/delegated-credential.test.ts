import type { Principal } from '@tidemark/session-continuity'
import { describe, expect, it } from 'vitest'
import { policy } from './source.ts'
import {
  World,
  begin,
  credential,
  isNoticed,
  reasonFor,
  refusalOf,
  resume,
  scope,
  type Life,
  type ProcessOptions,
  type TestProcess,
} from './world.ts'

const signedIn = 20_000

/** An agent that has just shown itself, on behalf of alice as she was authenticated then. */
function bot(alice: Life = {}, more: Life = {}) {
  const onBehalfOf: Principal = { id: 'alice', kind: 'human', assurance: 1, authenticatedAt: 1_000, ...alice }
  return credential('bot', { kind: 'agent', authenticatedAt: signedIn, assurance: 3, onBehalfOf, ...more })
}

function openBot(process: TestProcess, mode: 'begin' | 'resume', alice: Life = {}, more: Life = {}) {
  return process.continuity.open({ mode, scope, credential: bot(alice, more) })
}

const ways = ['begin', 'resume', 'refresh', 'recover'] as const
type Way = (typeof ways)[number]

/** A way in for the agent, up to the moment before it, with what alice does meanwhile. */
async function prepared(
  way: Way,
  options: ProcessOptions,
  meanwhile: (process: TestProcess) => Promise<void>,
) {
  const world = new World()
  world.time = signedIn
  const process = world.start(options)
  // Of the agent's own bounds none is in the way.
  const handle =
    way === 'begin'
      ? undefined
      : await process.continuity.open({
          mode: 'begin',
          scope,
          credential: bot({}, { authenticatedAt: 1_000 }),
        })
  if (way !== 'refresh') await handle?.close()
  await meanwhile(process)
  return (alice: Life): Promise<unknown> => {
    const shown = bot(alice)
    if (way === 'refresh') return handle!.refresh({ credential: shown })
    if (way === 'recover') return process.continuity.recover(scope, { credential: shown, reason: 'lost' })
    return process.continuity.open({ mode: way, scope, credential: shown })
  }
}

async function resets(process: TestProcess): Promise<void> {
  const alice = await begin(process)
  await (await alice.reset({ reason: 'leaked' })).close()
}

describe('a delegated credential', () => {
  const diesWithTheReset = async (way: Way, options: ProcessOptions = {}): Promise<void> => {
    // A refresh would be of a handle that the reset has fenced: see below.
    const enter = await prepared(way, options, resets)
    for (const authenticatedAt of [1_000, signedIn])
      expect(await refusalOf(() => enter({ authenticatedAt }))).toMatchObject({
        code: 'DENIED',
        reason: 'stale-credential',
      })
    await enter({ authenticatedAt: signedIn + 1 })
  }

  it.each(['begin', 'resume', 'recover'] as const)(
    'G41: %s: one from before the reset of whom it acts for is dead, and one from after it works',
    (way) => diesWithTheReset(way),
  )

  const gainsNothing = async (way: Way, options: ProcessOptions = {}): Promise<void> => {
    const enter = await prepared(way, options, async (process) => {
      const strong = credential('alice', { assurance: 2, authenticatedAt: 5_000 })
      await (await process.continuity.open({ mode: 'begin', scope, credential: strong })).close()
    })
    expect(await reasonFor(() => enter({ assurance: 1, authenticatedAt: 5_000 }))).toBe('weaker-assurance')
    expect(await reasonFor(() => enter({ assurance: 2, authenticatedAt: 4_999 }))).toBe('stale-credential')
    await enter({ assurance: 2, authenticatedAt: 5_000 })
  }

  it.each(ways)(
    '%s: a weaker assurance, or one older than the newest seen of whom it acts for, gains nothing',
    (way) => gainsNothing(way),
  )

  const judgeDelegated: typeof policy.judgeDelegated = (facts, { generation }) =>
    policy.judgeGeneration(facts, { generation })

  it.each(ways)('without the rule what a %s gained is seen', async (way) => {
    expect(await isNoticed(() => gainsNothing(way, { rules: { judgeDelegated } }))).toBe(true)
    if (way === 'refresh') return
    expect(await isNoticed(() => diesWithTheReset(way, { rules: { judgeDelegated } }))).toBe(true)
  })

  it('what is shown on her behalf is compared, and supersedes no credential of her own', async () => {
    const world = new World()
    const process = world.start()
    await (await begin(process)).close()
    await (
      await openBot(process, 'begin', { assurance: 9, authenticatedAt: 9_000 }, { authenticatedAt: 1_000 })
    ).close()
    expect((await resume(process)).isOpen).toBe(true)
  })

  it('a handle from before her reset is followed by none: neither by a reset nor by a refresh', async () => {
    const world = new World()
    const process = world.start()
    const alice = await begin(process)
    const [one, two] = [
      await openBot(world.start(), 'begin', {}, { authenticatedAt: 1_000 }),
      await openBot(world.start(), 'resume', {}, { authenticatedAt: 1_000 }),
    ]
    await alice.reset({ reason: 'leaked' })
    expect(await reasonFor(() => one.reset({ reason: 'me too' }))).toBe('stale-generation')
    const fresh = bot({ authenticatedAt: 10_001 }, { authenticatedAt: 10_001 })
    expect(await reasonFor(() => two.refresh({ credential: fresh }))).toBe('stale-generation')
  })

  it('a handle from before she began is over with her first reset', async () => {
    const world = new World()
    const agent = await openBot(world.start(), 'begin', {}, { authenticatedAt: 1_000 })
    const alice = await begin(world.start())
    await alice.reset({ reason: 'leaked' })
    expect(await reasonFor(() => agent.raise('internal'))).toBe('stale-generation')
  })

  it('a reset on her behalf needs no newer credential than the handle was opened with', async () => {
    const world = new World()
    const process = world.start()
    const agent = await openBot(process, 'begin', {}, { authenticatedAt: 1_000 })
    await (await begin(process)).refresh({ credential: credential('alice', { authenticatedAt: 2_000 }) })
    expect((await agent.reset({ reason: 'again' })).generation).toBe(2)
  })

  it('of a chain each one is judged against its own state', async () => {
    const world = new World()
    const process = world.start()
    await (await begin(process, 'carol')).close()
    const carol: Principal = { id: 'carol', kind: 'human', assurance: 1, authenticatedAt: 999 }
    expect(
      await reasonFor(() => openBot(process, 'begin', { onBehalfOf: carol }, { authenticatedAt: 1_000 })),
    ).toBe('stale-credential')
  })
})
