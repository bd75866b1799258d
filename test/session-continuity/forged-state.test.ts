import { createHash } from 'node:crypto'
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { marks, policy, systemPort, type ContinuityPort } from './source.ts'
import {
  World,
  begin,
  credential,
  foldersOf,
  isNoticed,
  reached,
  reasonFor,
  refusalOf,
  resume,
  scope,
  type Life,
  type ProcessOptions,
  type TestProcess,
} from './world.ts'

interface Wrapped {
  readonly cell: { number: number; value: policy.PolicyState; readonly store: string; readonly name: string }
}

/** The next state, by somebody who can write the store, with a checksum that fits. */
function forge(world: World, change: (state: policy.PolicyState) => Partial<policy.PolicyState>): void {
  const { state } = foldersOf(world)
  const newest = readdirSync(state).sort().at(-1)!
  const { cell } = JSON.parse(readFileSync(join(state, newest), 'utf8')) as Wrapped
  const { store, name } = cell
  const number = cell.number + 1
  const text = JSON.stringify({
    format: 1,
    store,
    name,
    number,
    value: { ...cell.value, ...change(cell.value) },
  })
  const sum = createHash('sha256').update(text).digest('hex')
  const path = join(state, String(number).padStart(6, '0'))
  writeFileSync(path, `{"cell":${text},"sum":"${sum}"}\n`, { mode: 0o600 })
}

const recover = (process: TestProcess, life: Life = {}) =>
  process.continuity.recover(scope, { credential: credential('alice', life), reason: 'forged' })

const stateOf = async (process: TestProcess): Promise<unknown> =>
  (await process.continuity.verify(scope, { credential: credential('alice') })).state

describe('a state that the witness does not expect', () => {
  const isRefused = async (options: ProcessOptions = {}): Promise<void> => {
    const world = await reached(options)
    forge(world, ({ generation }) => ({
      generation: generation + 1,
      sensitivity: 'public',
      credentialsAfter: -1,
    }))
    expect(await refusalOf(() => resume(world.start(options)))).toMatchObject({
      code: 'CORRUPT',
      reason: 'ahead-of-witness',
    })
    expect(await stateOf(world.start(options))).toBe('ahead-of-witness')
    const handle = await recover(world.start(options))
    expect(handle).toMatchObject({ sensitivity: 'secret' })
    await handle.close()
    expect((await resume(world.start(options))).sensitivity).toBe('secret')
  }

  it('G41: of a generation that nobody started, is refused by that name, and a recover goes on above it', () =>
    isRefused())

  it('without the witness it would be taken', async () => {
    const judgeStanding: typeof policy.judgeResume = (facts, terms) => {
      const { found } = facts
      const coming = found.kind === 'found' ? marks.reachOf(found.state) : undefined
      const mark = facts.mark && { ...facts.mark, ...(coming && { coming: [coming] }) }
      return policy.judgeResume({ ...facts, mark }, terms)
    }
    expect(await isNoticed(() => isRefused({ rules: { judgeResume: judgeStanding } }))).toBe(true)
  })

  it('is none where a reset came between the looks at the witness and at the state', async () => {
    const world = await reached()
    const { state } = foldersOf(world)
    const other = await resume(world.start())
    let isArmed = true
    const readdir: ContinuityPort['readdir'] = async (path) => {
      if (path === state && isArmed) {
        isArmed = false
        await (await other.reset({ reason: 'meanwhile' })).close()
      }
      return systemPort.readdir(path)
    }
    const process = world.start({ port: { ...systemPort, readdir } })
    expect(await reasonFor(() => resume(process))).toBe('stale-credential')
    expect(isArmed).toBe(false)
  })

  it('of a generation beyond all counting, is no end of the scope', async () => {
    const world = await reached()
    forge(world, () => ({ generation: 999_999_999_999_999, sensitivity: 'internal' }))
    expect(await reasonFor(() => resume(world.start()))).toBe('ahead-of-witness')
    const handle = await recover(world.start())
    expect(handle).toMatchObject({ generation: 2, sensitivity: 'secret' })
    await (await handle.reset({ reason: 'again' })).close()
    expect((await resume(world.start(), 'alice', { authenticatedAt: 10_001 })).generation).toBe(3)
  })

  it.each<[string, Partial<policy.PolicyState>]>([
    ['a lower assurance', { assurance: 0 }],
    ['an older newest credential', { newestAuthenticatedAt: 1 }],
  ])('of the same generation, with %s, is behind the witness', async (_, change) => {
    const world = await reached()
    forge(world, () => change)
    expect(await reasonFor(() => resume(world.start()))).toBe('behind-witness')
  })

  it('of the same generation, with a higher label, is welcome', async () => {
    const world = new World()
    await (await begin(world.start())).close()
    forge(world, () => ({ sensitivity: 'confidential' }))
    expect((await resume(world.start())).sensitivity).toBe('confidential')
  })
})

describe('a generation that was announced by one that died', () => {
  /** A process that goes no further than to a certain link, and is dead from then on. */
  const dyingAt = (world: World, isThere: (path: string) => boolean) => {
    let fail: (error: Error) => void = () => undefined
    let tell: () => void = () => undefined
    const stuck = new Promise<void>((_, reject) => (fail = reject))
    const isStuck = new Promise<void>((resolve) => (tell = resolve))
    const link: ContinuityPort['link'] = async (from, to) => {
      if (isThere(to)) {
        tell()
        await stuck
      }
      await systemPort.link(from, to)
    }
    const process = world.start({ port: { ...systemPort, link } })
    const run = async (work: (process: TestProcess) => Promise<unknown>): Promise<void> => {
      void work(process).catch(() => undefined)
      await isStuck
      process.die()
    }
    return { run, bury: () => fail(new Error('dead')) }
  }

  it('is taken, whatever was announced before it and after it', async () => {
    const world = await reached()
    const { state, witness } = foldersOf(world)
    const dead: { readonly bury: () => void }[] = []
    for (let times = 0; times < 2; times++) {
      const each = dyingAt(world, (path) => path.startsWith(state))
      await each.run(recover)
      dead.push(each)
    }
    let hasState = false
    const last = dyingAt(world, (path) => {
      hasState ||= path.startsWith(state)
      return hasState && path.startsWith(witness)
    })
    let announced: unknown
    await last.run(async (process) => {
      const handle = await resume(process)
      hasState = false
      announced = handle.generation
      await handle.reset({ reason: 'the next job' })
    })
    expect(announced).toBe(1)
    for (let times = 0; times < 3; times++) {
      const each = dyingAt(world, (path) => path.startsWith(state))
      await each.run((process) => recover(process, { authenticatedAt: 10_001 }))
      dead.push(each)
    }
    const handle = await resume(world.start(), 'alice', { authenticatedAt: 10_002 })
    expect(handle).toMatchObject({ generation: 2, sensitivity: 'public' })
    for (const { bury } of [...dead, last]) bury()
  })

  it('is no leave for one that nobody announced', async () => {
    const world = await reached()
    const { state } = foldersOf(world)
    const dead = dyingAt(world, (path) => path.startsWith(state))
    await dead.run(recover)
    forge(world, () => ({ generation: 3, sensitivity: 'secret' }))
    expect(await reasonFor(() => resume(world.start()))).toBe('ahead-of-witness')
    dead.bury()
  })
})

describe('what a recover asks of a credential', () => {
  const after = async (spoil: (world: World, undo: () => void) => void): Promise<World> => {
    const world = new World()
    const process = world.start()
    const handle = await process.continuity.open({
      mode: 'begin',
      credential: credential('alice', { assurance: 5 }),
      scope,
    })
    const undo = world.backup()
    await (await handle.reset({ reason: 'stolen' })).close()
    spoil(world, undo)
    return world
  }

  it.each<[string, (world: World, undo: () => void) => void]>([
    ['the states are gone', (world) => rmSync(foldersOf(world).state, { recursive: true })],
    ['the state is there', () => undefined],
    ['a copy from before the reset was put back', (_, undo) => undo()],
  ])('is what was proven, where %s', async (_, spoil) => {
    const world = await after(spoil)
    const process = world.start()
    expect(await reasonFor(() => recover(process, { assurance: 5 }))).toBe('stale-credential')
    const weaker = { assurance: 4, authenticatedAt: 10_001 }
    expect(await reasonFor(() => recover(process, weaker))).toBe('weaker-assurance')
    const handle = await recover(process, { assurance: 5, authenticatedAt: 10_001 })
    await handle.close()
    expect(await reasonFor(() => resume(process, 'alice', { assurance: 5 }))).toBe('stale-credential')
  })

  it('a reset does not lower the assurance that another handle was refreshed to', async () => {
    const world = new World()
    const process = world.start()
    const one = await begin(process)
    const two = await resume(process)
    await two.refresh({ credential: credential('alice', { assurance: 9, authenticatedAt: 2_000 }) })
    await (await one.reset({ reason: 'by the older' })).close()
    expect(await reasonFor(() => resume(process, 'alice', { authenticatedAt: 20_000 - 9_000 }))).toBe(
      'weaker-assurance',
    )
    expect((await resume(process, 'alice', { assurance: 9, authenticatedAt: 11_000 })).generation).toBe(2)
  })
})

describe('a reset under a clock that was ahead', () => {
  const years = 10 * 365 * 86_400_000

  it('is gone on from by a recover, once the clock is right, with a credential that is newer than all that were seen', async () => {
    const world = new World()
    const process = world.start()
    const handle = await begin(process)
    world.time += years
    await (await handle.reset({ reason: 'ahead' })).close()
    world.time -= years
    const fresh = { authenticatedAt: 10_000 }
    expect(await reasonFor(() => resume(process, 'alice', fresh))).toBe('stale-credential')
    // What was seen before the reset stays dead.
    expect(await reasonFor(() => recover(process))).toBe('stale-credential')
    const recovered = await recover(process, fresh)
    expect(recovered.generation).toBe(3)
    await recovered.close()
    expect((await resume(process, 'alice', fresh)).generation).toBe(3)
    expect(await reasonFor(() => resume(process))).toBe('stale-credential')
  })

  it.each([0, 5_000])(
    'is none where the clock is right, or off by %i, as far as is tolerated',
    async (ahead) => {
      const world = new World()
      const process = world.start()
      const handle = await begin(process)
      world.time += ahead
      await (await handle.reset({ reason: 'in time' })).close()
      world.time -= ahead
      expect(await reasonFor(() => recover(process, { authenticatedAt: 10_000 }))).toBe('stale-credential')
    },
  )
})
