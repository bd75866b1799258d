import { readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { rules, systemPort } from './source.ts'
import {
  World,
  begin,
  credential,
  foldersOf,
  isNoticed,
  linesOf,
  reasonFor,
  refusalOf,
  resume,
  scope,
  type ProcessOptions,
} from './world.ts'

describe('audit incarnation', () => {
  it('a restart continues under a fresh incarnation, linked to the head of the one before, and rewrites nothing', async () => {
    const world = new World()
    const first = await begin(world.start())
    await first.audit({ action: 'deploy', detail: { target: 'staging' } })
    await first.close()
    const before = [...world.files('root')].filter(([path]) => path.includes('/audit/'))
    const second = await resume(world.start())
    expect(second.incarnation).not.toBe(first.incarnation)
    const after = world.files('root')
    for (const [path, digest] of before) expect(after.get(path)).toBe(digest)
    const last = JSON.parse(linesOf(world, 1).at(-1)!) as { entry: { index: number }; digest: string }
    const opening = JSON.parse(linesOf(world, 2)[0]!) as { entry: { detail: { links: unknown[] } } }
    expect(opening.entry.detail.links).toEqual([
      { number: 1, incarnation: first.incarnation, index: last.entry.index, digest: last.digest },
    ])
  })

  const keepsEarlier = async (options: ProcessOptions = {}): Promise<void> => {
    const world = new World()
    await (await begin(world.start())).close()
    await (await resume(world.start())).close()
    const before = [1, 2].map((number) => linesOf(world, number))
    const { audit } = foldersOf(world)
    const chains = (): string[] => readdirSync(audit).filter((name) => name.endsWith('.jsonl'))
    await (await resume(world.start(options))).close()
    expect([1, 2].map((number) => linesOf(world, number))).toEqual(before)
    expect(chains()).toEqual(['000001.jsonl', '000002.jsonl', '000003.jsonl'])
    // A number that was given once is not given again, though its file be gone.
    rmSync(join(audit, '000003.jsonl'))
    const recover = { credential: credential('alice'), reason: 'a chain is gone' }
    await (await world.start(options).continuity.recover(scope, recover)).close()
    expect([1, 2].map((number) => linesOf(world, number))).toEqual(before)
    expect(chains()).toEqual(['000001.jsonl', '000002.jsonl', '000004.jsonl'])
  }

  it('G43: no earlier chain is overwritten, and none takes the number of another one', () => keepsEarlier())

  it('without the rule for numbers a chain that takes the number of a lost one is seen', async () => {
    const numberAfter: typeof rules.numberAfter = ({ highest }) => highest + 1
    expect(await isNoticed(() => keepsEarlier({ rules: { numberAfter } }))).toBe(true)
  })

  it('where a file takes the place of another one a chain that is overwritten is seen', async () => {
    const port = new Proxy(systemPort, {
      get: (target, key) => {
        if (key === 'link') return async (from: string, to: string) => renameSync(from, to)
        const value: unknown = Reflect.get(target, key)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
    const numberAfter: typeof rules.numberAfter = ({ highest }) => highest
    expect(await isNoticed(() => keepsEarlier({ port, rules: { numberAfter } }))).toBe(true)
    // Neither alone does it.
    await keepsEarlier({ port })
  })

  const staysListed = async (options: ProcessOptions = {}): Promise<void> => {
    const world = new World()
    const crashed = world.start(options)
    const lost = await begin(crashed)
    crashed.die()
    await (await resume(world.start(options))).close()
    const operator = world.start(options)
    const handle = await resume(operator)
    expect(await operator.continuity.orphans({ as: handle })).toEqual([
      {
        incarnation: lost.incarnation,
        number: 1,
        principal: 'test:alice',
        startedAt: 10_000,
        entriesCount: 1,
        isIntact: true,
      },
    ])
    await operator.continuity.acknowledge(lost.incarnation, { as: handle, reason: 'power cut' })
    expect(await operator.continuity.orphans({ as: handle })).toEqual([])
    const said = JSON.parse(linesOf(world, 3).at(-1)!) as { entry: object }
    expect(said.entry).toMatchObject({
      action: 'continuity/acknowledge',
      detail: { incarnation: lost.incarnation, reason: 'power cut' },
    })
    const again = () => operator.continuity.acknowledge(lost.incarnation, { as: handle, reason: 'twice' })
    expect(await reasonFor(again)).toBe('no-orphan')
  }

  it('G43: an unclean incarnation stays listed after a later one closes cleanly, until it is acknowledged', () =>
    staysListed())

  it.each<[string, typeof rules.judgeLife]>([
    ['ends with the next one', (facts) => rules.judgeLife({ ...facts, hasClosed: true })],
    ['is acknowledged by nobody', (facts) => rules.judgeLife({ ...facts, isAcknowledged: true })],
    ['stays one when it is acknowledged', (facts) => rules.judgeLife({ ...facts, isAcknowledged: false })],
  ])('where an orphan %s, it is seen', async (_, judgeLife) => {
    expect(await isNoticed(() => staysListed({ rules: { judgeLife } }))).toBe(true)
  })

  const refusesLiving = async (options: ProcessOptions = {}): Promise<void> => {
    const world = new World()
    const living = await begin(world.start())
    const operator = world.start(options)
    const handle = await resume(operator)
    const inAdvance = () =>
      operator.continuity.acknowledge(living.incarnation, { as: handle, reason: 'soon' })
    expect(await refusalOf(inAdvance)).toMatchObject({ code: 'LOCKED', reason: 'living' })
    const oneself = () => operator.continuity.acknowledge(handle.incarnation, { as: handle, reason: 'me' })
    expect(await reasonFor(oneself)).toBe('living')
  }

  it('G43: a living incarnation cannot be acknowledged in advance', () => refusesLiving())

  it('without that rule the acknowledgement in advance is seen', async () => {
    expect(await isNoticed(() => refusesLiving({ rules: { judgeAcknowledge: () => undefined } }))).toBe(true)
  })

  it('running, closed and orphaned are three different things', async () => {
    const world = new World()
    const running = world.start()
    await begin(running)
    await (await resume(running)).close()
    const crashed = world.start()
    await resume(crashed)
    crashed.die()
    const { chains } = await running.continuity.verify(scope, { credential: credential('alice') })
    expect(chains.map(({ life }) => life)).toEqual(['running', 'closed', 'orphaned'])
  })

  it('orphans and acknowledgements each need a grant of their own', async () => {
    const world = new World()
    const grants = () => ({ operations: ['begin', 'resume'] as const })
    const process = world.start({ grants })
    const handle = await begin(process)
    expect(await reasonFor(() => process.continuity.orphans({ as: handle }))).toBe('no-grant')
    const acknowledge = () => process.continuity.acknowledge('x', { as: handle, reason: 'x' })
    expect(await reasonFor(acknowledge)).toBe('no-grant')
  })

  it('what only looks like a handle is none', async () => {
    const process = new World().start()
    const handle = await begin(process)
    const forged = Object.create(handle) as typeof handle
    expect(await reasonFor(() => process.continuity.orphans({ as: forged }))).toBe('closed')
    await handle.close()
    expect(await reasonFor(() => process.continuity.orphans({ as: handle }))).toBe('closed')
    expect(await reasonFor(() => handle.audit({ action: 'late' }))).toBe('closed')
  })

  it('an entry of the host cannot pass for one of continuity', async () => {
    const handle = await begin(new World().start())
    const forged = () => handle.audit({ action: 'continuity/acknowledge', detail: { incarnation: 'x' } })
    expect(await reasonFor(forged)).toBe('no-grant')
    await handle.audit({ action: 'deploy' })
  })
})
