import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { rules } from './source.ts'
import {
  World,
  allOperations,
  begin,
  credential,
  granted,
  isNoticed,
  reasonFor,
  refusalOf,
  resume,
  scope,
  type ProcessOptions,
} from './world.ts'

const grants = granted({ 'test:alice': [scope, 'other'], 'test:bob': ['bobs'], 'test:carol': [scope] })

async function deployment(options: ProcessOptions = {}) {
  const world = new World()
  const process = world.start({ grants, ...options })
  const handle = await begin(process)
  await handle.raise('secret')
  await handle.close()
  return { world, process }
}

describe('resume authority', () => {
  it('an authenticated principal resumes its own scope, at the sensitivity that it reached', async () => {
    const { world } = await deployment()
    const handle = await resume(world.start({ grants }))
    expect(handle).toMatchObject({ sensitivity: 'secret', generation: 1, scope })
    expect(handle.principal.id).toBe('test:alice')
  })

  const refusesOthers = async (options: ProcessOptions = {}): Promise<void> => {
    const { world, process } = await deployment(options)
    const before = world.files('root')
    // Without a grant the answer is the same, whether there is something or not.
    const existing = await refusalOf(() => resume(process, 'bob'))
    const missing = await refusalOf(() => resume(process, 'bob', { where: 'nowhere' }))
    expect(existing).toMatchObject({ code: 'DENIED', reason: 'no-grant' })
    expect(missing).toEqual(existing)
    // With a grant in the scope, and no state of its own in it, there is nothing to load.
    expect(await reasonFor(() => resume(process, 'carol'))).toBe('unknown-scope')
    expect(await reasonFor(() => resume(process, 'alice', { where: 'other' }))).toBe('unknown-scope')
    expect(world.files('root')).toEqual(before)
    expect(process.continuity.refusedCount).toBe(4)
  }

  it('G40: the same identifier under another principal or scope loads nothing and reveals nothing', () =>
    refusesOthers())

  it('without the question for a grant the refusal is seen to be missing', async () => {
    expect(await isNoticed(() => refusesOthers({ rules: { isAllowed: () => true } }))).toBe(true)
  })

  it('each refused attempt is kept, with who asked and for what', async () => {
    const { world, process } = await deployment()
    await refusalOf(() => resume(process, 'bob'))
    await process.continuity.close()
    const folder = join(world.root, 'continuity', 'refusals')
    const lines = readdirSync(folder).flatMap((name) =>
      readFileSync(join(folder, name), 'utf8').trim().split('\n'),
    )
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { time: 10_000, operation: 'resume', reason: 'no-grant', principal: 'test:bob', scope, suppressed: 0 },
    ])
  })

  const keepsApart = async (weakened: ProcessOptions = {}): Promise<void> => {
    const process = new World().start(weakened)
    await (await begin(process)).raise('secret')
    expect(await refusalOf(() => resume(process, 'bob'))).toMatchObject({ code: 'NOT_FOUND' })
    expect(await refusalOf(() => resume(process, 'alice', { where: 'other' }))).toMatchObject({
      code: 'NOT_FOUND',
    })
    expect((await begin(process, 'bob')).sensitivity).toBe('public')
  }

  it('the same scope under another principal, who may do all, is another state', () => keepsApart())

  it('without the principal in the key what is shared is seen', async () => {
    const continuityKey: typeof rules.continuityKey = (storeId, _, where) =>
      rules.continuityKey(storeId, 'anybody', where)
    expect(await isNoticed(() => keepsApart({ rules: { continuityKey } }))).toBe(true)
  })

  it('two scopes of one principal do not know of each other', async () => {
    const { process } = await deployment()
    const other = await begin(process, 'alice', 'other')
    expect(other.sensitivity).toBe('public')
  })

  const narrows = async (weakened: ProcessOptions = {}): Promise<void> => {
    const world = new World()
    const few = (...operations: (typeof allOperations)[number][]) => ({ grants: () => ({ operations }) })
    await (await begin(world.start(few('begin', 'resume', 'raise')))).close()
    // More is granted today than was recorded.
    const wide = await resume(world.start(weakened))
    expect(await reasonFor(() => wide.reset({ reason: 'I may not' }))).toBe('no-grant')
    await wide.close()
    // Less is granted today.
    const narrow = await resume(world.start({ ...few('resume'), ...weakened }))
    expect(await reasonFor(() => narrow.raise('secret'))).toBe('no-grant')
  }

  it('H02: what was recorded and what is granted now are intersected: a resume narrows and never widens', () =>
    narrows())

  it('H02: without the recorded grant the widening is seen', async () => {
    const isAllowed: typeof rules.isAllowed = (operation, { current }) => current.includes(operation)
    expect(await isNoticed(() => narrows({ rules: { isAllowed } }))).toBe(true)
  })

  it('H02: a grant that is revoked while a handle is open holds no longer', async () => {
    const world = new World()
    let operations = allOperations
    const handle = await begin(world.start({ grants: () => ({ operations }) }))
    operations = ['begin', 'resume']
    expect(await reasonFor(() => handle.reset({ reason: 'revoked' }))).toBe('no-grant')
  })

  it.each([
    ['is over', () => ({ operations: allOperations, until: 9_999 })],
    ['ends at a time that is no number', () => ({ operations: allOperations, until: Number.NaN })],
    ['is nothing', () => undefined],
    ['is no list', () => ({ operations: 'begin' as unknown as [] })],
    [
      'throws',
      () => {
        throw new TypeError('broken')
      },
    ],
    ['never comes', () => new Promise<undefined>(() => undefined)],
  ])('a grant that %s grants nothing', async (_, answer) => {
    const process = new World().start({ grants: answer, config: { answerMsMax: 20 } })
    expect(await reasonFor(() => begin(process))).toBe('no-grant')
  })

  it('what is no name of an operation is no part of a grant', async () => {
    const world = new World()
    const operations = ['begin', 'resume', `session/${'x'.repeat(100)}`, 7, null] as unknown as []
    await (await begin(world.start({ grants: () => ({ operations }) }))).close()
    expect((await resume(world.start({ grants: () => ({ operations }) }))).isOpen).toBe(true)
  })

  it('without a function for grants nobody is let in', async () => {
    const process = new World().start({ grants: undefined as never, config: { grants: undefined } })
    expect(await reasonFor(() => begin(process))).toBe('no-grant')
  })

  it('H18: a scope that is missing, empty, null or too long is refused', async () => {
    const process = new World().start()
    for (const bad of [undefined, '', null, 7, '\ud800', 'x'.repeat(201)]) {
      const open = () =>
        process.continuity.open({ mode: 'begin', credential: credential('alice'), scope: bad as string })
      expect(await refusalOf(open)).toMatchObject({ code: 'INVALID_ID' })
    }
  })
})
