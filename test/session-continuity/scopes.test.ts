import { readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { continuityKey, scopeName } from './source.ts'
import { World, begin, credential, foldersOf, granted, reasonFor, resume } from './world.ts'

const twins = [
  ...[
    'a-b',
    'a/b',
    'a_b',
    'a.b',
    'a b',
    'A.B',
    'a.B',
    '甲乙',
    '丙丁',
    '\u00e9',
    'e\u0301',
    '\u212b',
    '\u00c5',
  ],
  ...[
    '../x',
    '..\\x',
    '/abs',
    'a/../../b',
    '%2e%2e/',
    '.',
    '..',
    'a\0b',
    'CON',
    'nul.',
    'x ',
    'x.',
    's-x',
    'h-x',
    '=2f',
  ],
  ...['__proto__', 'constructor', 'x'.repeat(200), `${'x'.repeat(199)}y`, 'X'.repeat(200), '甲'.repeat(200)],
]

describe('scopes', () => {
  it('H13: no two share a name, whatever a file system folds, and no name is a path', () => {
    const names = twins.map(scopeName)
    const folded = names.map((name) => name.normalize('NFKC').toLowerCase())
    expect(new Set(folded).size).toBe(twins.length)
    for (const name of names) expect(name).toMatch(/^[sh]-[a-z0-9=-]{1,118}$/)
  })

  it('H13: each of the twins has a state of its own, and nothing lies outside of the root', async () => {
    const world = new World()
    const process = world.start()
    for (const [index, where] of twins.entries()) {
      const handle = await begin(process, 'alice', where)
      expect(handle.sensitivity).toBe('public')
      if (index % 2) await handle.raise('secret')
      await handle.close()
    }
    for (const [index, where] of twins.entries()) {
      const handle = await resume(process, 'alice', { where })
      expect(handle.sensitivity).toBe(index % 2 ? 'secret' : 'public')
    }
    expect(readdirSync(world.base).sort()).toEqual(['root', 'witness'])
    expect(readdirSync(join(world.root, 'continuity', 'scopes'))).toHaveLength(twins.length)
  }, 60_000)

  it('principals that differ by case or form, or whose ids run into the scope, have keys of their own', () => {
    const pairs = twins.flatMap((id) => twins.slice(0, 12).map((scope) => [id, scope] as const))
    expect(new Set(pairs.map(([id, scope]) => continuityKey('store', id, scope))).size).toBe(pairs.length)
    const text = fc.string({ unit: 'grapheme', maxLength: 8 })
    fc.assert(
      fc.property(fc.tuple(text, text), fc.tuple(text, text), (a, b) => {
        const isSame = a[0] === b[0] && a[1] === b[1]
        expect(continuityKey('store', ...a) === continuityKey('store', ...b)).toBe(isSame)
      }),
    )
    expect(continuityKey('one', 'a', 'b')).not.toBe(continuityKey('two', 'a', 'b'))
  })

  it('a token that is shown in another scope gains nothing there', async () => {
    const world = new World()
    const process = world.start({ grants: granted({ 'test:alice': ['one'] }) })
    const handle = await begin(process, 'alice', 'one')
    await handle.raise('secret')
    const replay = () =>
      process.continuity.open({ mode: 'resume', credential: credential('alice'), scope: 'two' })
    expect(await reasonFor(replay)).toBe('no-grant')
    // With a grant there, it is another state.
    const both = world.start()
    expect((await begin(both, 'alice', 'two')).sensitivity).toBe('public')
  })

  it.each(['root', 'witness'] as const)(
    'the folders of two scopes exchanged in the %s are damage',
    async (part) => {
      const world = new World()
      const process = world.start()
      for (const where of ['one', 'two']) await (await begin(process, 'alice', where)).close()
      const [one, two] = ['one', 'two'].map((where) =>
        part === 'root' ? foldersOf(world, where).folder : foldersOf(world, where).witness,
      ) as [string, string]
      renameSync(one, `${one}-aside`)
      renameSync(two, one)
      renameSync(`${one}-aside`, two)
      for (const where of ['one', 'two']) {
        const reason = await reasonFor(() => resume(process, 'alice', { where }))
        expect(reason).toBe(part === 'root' ? 'lost-state' : 'damaged')
      }
    },
  )

  it('a state file of one scope under the name of another is damage', async () => {
    const world = new World()
    const process = world.start()
    for (const where of ['one', 'two']) await (await begin(process, 'alice', where)).close()
    const [one, two] = ['one', 'two'].map((where) => foldersOf(world, where).state) as [string, string]
    renameSync(join(two, '000001'), join(one, '000001'))
    expect(await reasonFor(() => resume(process, 'alice', { where: 'one' }))).toBe('damaged')
  })
})
