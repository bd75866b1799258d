import { describe, expect, it } from 'vitest'
import {
  World,
  allOperations,
  begin,
  credential,
  reasonFor,
  resume,
  scope,
  type ProcessOptions,
} from './world.ts'

const alice = { id: 'alice', kind: 'human', assurance: 1, authenticatedAt: 1_000 } as const
const forAlice = { kind: 'agent', onBehalfOf: alice } as const

describe('one who acts for another', () => {
  it('H01: an agent that resumes by itself has its own grant, and not what a human was granted once', async () => {
    const world = new World()
    const grants: ProcessOptions['grants'] = ({ principal }) => ({
      operations: principal.kind === 'human' ? allOperations : ['resume'],
    })
    const human = await begin(world.start({ grants }))
    await human.raise('secret')
    await human.close()
    const process = world.start({ grants })
    expect(await reasonFor(() => resume(process, 'bot', { kind: 'agent' }))).toBe('unknown-scope')
    expect(process.continuity.refusedCount).toBe(1)
  })

  it('grants intersect', async () => {
    const world = new World()
    const grants: ProcessOptions['grants'] = ({ principal }) => ({
      operations: principal.id === 'test:alice' ? ['begin', 'reset', 'raise'] : ['begin', 'refresh', 'raise'],
    })
    const process = world.start({ grants })
    const handle = await process.continuity.open({
      mode: 'begin',
      scope: 's',
      credential: { mechanism: 'test', token: JSON.stringify({ ...alice, id: 'bot', ...forAlice }) },
    })
    await handle.raise('internal')
    expect(await reasonFor(() => handle.reset({ reason: 'x' }))).toBe('no-grant')
    expect(
      await reasonFor(() =>
        handle.refresh({
          credential: { mechanism: 'test', token: JSON.stringify({ ...alice, id: 'bot', ...forAlice }) },
        }),
      ),
    ).toBe('no-grant')
  })

  it('labels take the maximum, in both directions, and it survives a restart', async () => {
    const world = new World()
    const process = world.start()
    const human = await begin(process)
    await human.raise('internal')
    const open = (mode: 'begin' | 'resume') =>
      world.start().continuity.open({
        mode,
        scope: human.scope,
        credential: { mechanism: 'test', token: JSON.stringify({ ...alice, id: 'bot', ...forAlice }) },
      })
    const agent = await open('begin')
    expect(agent.sensitivity).toBe('internal')
    // What the agent learns, the one it acts for may be told.
    await agent.raise('confidential')
    await human.update()
    expect(human.sensitivity).toBe('confidential')
    await agent.close()
    await human.raise('secret')
    expect((await open('resume')).sensitivity).toBe('secret')
  })

  const openFor = (world: World, mode: 'begin' | 'resume', onBehalfOf: object = alice) =>
    world.start().continuity.open({
      mode,
      scope,
      credential: credential('bot', { kind: 'agent', onBehalfOf: onBehalfOf as typeof alice }),
    })

  it('whoever begins after something was reached on her behalf, begins there, and is followed from then on', async () => {
    const world = new World()
    const agent = await openFor(world, 'begin')
    await agent.raise('internal')
    const human = await begin(world.start())
    expect(human.sensitivity).toBe('internal')
    await human.raise('secret')
    await agent.update()
    expect(agent.sensitivity).toBe('secret')
    expect((await openFor(world, 'resume')).sensitivity).toBe('secret')
    await human.reset({ reason: 'a new project' })
    expect(await reasonFor(() => agent.update())).toBe('stale-generation')
  })

  it('a raise by the one hears of the other who began meanwhile, and of a begin at the same time', async () => {
    const world = new World()
    const agent = await openFor(world, 'begin')
    const [human] = await Promise.all([begin(world.start()), agent.raise('confidential')])
    await human.update()
    expect(human.sensitivity).toBe('confidential')
    await human.raise('secret')
    await agent.raise('internal')
    expect(agent.sensitivity).toBe('secret')
  })

  it('an opening on her behalf, above the floor, counts too', async () => {
    const world = new World()
    const alone = await begin(world.start(), 'bot')
    await alone.raise('secret')
    await alone.close()
    await (await openFor(world, 'resume')).close()
    expect((await begin(world.start())).sensitivity).toBe('secret')
  })

  it('one who acts for itself goes on after its reset', async () => {
    const world = new World()
    const self = { id: 'bot', kind: 'agent', assurance: 1, authenticatedAt: 1_000 } as const
    const handle = await (await openFor(world, 'begin', self)).reset({ reason: 'again' })
    await handle.update()
    await handle.raise('internal')
    expect(handle).toMatchObject({ generation: 2, sensitivity: 'internal', isOpen: true })
  })

  it('a reset of the one ends the handle that acts for it', async () => {
    const world = new World()
    const human = await begin(world.start())
    const agent = await world.start().continuity.open({
      mode: 'begin',
      scope: human.scope,
      credential: { mechanism: 'test', token: JSON.stringify({ ...alice, id: 'bot', ...forAlice }) },
    })
    await human.reset({ reason: 'a new project' })
    expect(await reasonFor(() => agent.audit({ action: 'late' }))).toBe('stale-generation')
  })

  it('of a chain of five who act for each other nobody is let in', async () => {
    let credential: object = alice
    const open = (mode: 'begin') =>
      new World().start().continuity.open({
        mode,
        scope: 's',
        credential: { mechanism: 'test', token: JSON.stringify(credential) },
      })
    for (let depth = 2; depth <= 4; depth++)
      credential = { ...alice, id: `bot ${depth}`, kind: 'agent', onBehalfOf: credential }
    expect((await open('begin')).isOpen).toBe(true)
    credential = { ...alice, id: 'bot 5', kind: 'agent', onBehalfOf: credential }
    expect(await reasonFor(() => open('begin'))).toBe('bad-credential')
  })
})
