import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { JournalStorage, folderName, idIn, systemPort } from '@tidemark/session-persistence/journal'
import { afterEach, describe, expect, it } from 'vitest'
import { appendNext, headerOf, newClaim, readBack } from '../batches.ts'
import { scratch } from '../scratch.ts'

const opened: JournalStorage[] = []
const open = (root: string): JournalStorage => {
  const storage = new JournalStorage({ root, port: systemPort })
  opened.push(storage)
  return storage
}
afterEach(async () => {
  for (const storage of opened.splice(0)) await storage.close()
})

const paths = [
  '../x',
  '..\\x',
  '/abs',
  'a/../../b',
  '%2e%2e/',
  '.',
  '..',
  'a\0b',
  'C:\\x',
  'a:b',
  '~',
  '-rf',
  '*',
  'a\nb',
]
const reserved = [
  'CON',
  'con',
  'nul',
  'COM1',
  'aux.txt',
  'a.',
  'a ',
  ' a',
  '.hidden',
  'tmp-1',
  'gone-1',
  's-a',
  'h-a',
  'index',
]
const alike = [
  'a.b',
  'a_b',
  'a-b',
  'a b',
  'A.B',
  'a/b',
  'é',
  'e\u0301',
  'ﬁ',
  'fi',
  'ß',
  'SS',
  'ı',
  'I',
  'i',
  '甲乙',
  '丙丁',
]
const long = [199, 200].flatMap((length) => ['a', 'A', '甲', '.'].map((each) => each.repeat(length)))
const emoji = ['👩‍👩‍👧'.repeat(25), '\u{1f600}'.repeat(100)]
const twins = ['x'.repeat(199) + 'y', 'x'.repeat(199) + 'Y', '甲'.repeat(199) + '乙', '甲'.repeat(199) + '丙']
const all = [...paths, ...reserved, ...alike, ...long, ...emoji, ...twins]

/** What no file system takes for something else: no case, no Unicode, no separators, no reserved names. */
const portable = /^[sh]-[a-z0-9_=-]{1,198}$/

describe('ids as names', () => {
  it('M01, M06, M07, G29: every id has its own session, and nothing is outside its folder', async () => {
    const folder = scratch()
    const root = join(folder, 'root')
    const storage = open(root)
    for (const id of all)
      await appendNext(await storage.create(headerOf(id, { meta: { id } }), { claim: newClaim() }))
    for (const id of all) expect((await readBack(open(root), id)).header).toMatchObject({ id, meta: { id } })
    const names = readdirSync(join(root, 'sessions'))
    expect(names).toHaveLength(all.length)
    expect(new Set(names.map((name) => name.normalize('NFKC').toLowerCase())).size).toBe(all.length)
    for (const name of names) {
      expect(name).toMatch(portable)
      expect(Buffer.byteLength(name)).toBeLessThanOrEqual(200)
    }
    expect(readdirSync(folder)).toEqual(['root'])
    expect(readdirSync(root).sort()).toEqual(['index', 'sessions', 'store.json'])
    const listed = (await storage.list({ countMax: 1_000 })).sessions
    expect(listed.map(({ id }) => id).sort()).toEqual([...all].sort())
    expect(listed.every(({ status }) => status === 'ok')).toBe(true)
  })

  it('H13: removing one leaves its twins', async () => {
    const storage = open(join(scratch(), 'root'))
    for (const id of alike) await storage.create(headerOf(id), { claim: newClaim() })
    for (const [index, id] of alike.entries()) {
      await storage.remove(id)
      expect((await storage.list({ countMax: 100 })).sessions).toHaveLength(alike.length - index - 1)
    }
  })

  it('G29: two ids never share a name, and a name that spells its id gives it back', () => {
    const id = fc.oneof(
      fc.string({ minLength: 1, maxLength: 200, unit: 'binary' }),
      fc.string({ minLength: 1, maxLength: 200 }),
    )
    const wellFormed = id.filter((each) => each.isWellFormed() && each.length <= 200 && each.length > 0)
    fc.assert(
      fc.property(wellFormed, wellFormed, (a, b) => {
        expect(folderName(a)).toMatch(portable)
        if (a !== b) expect(folderName(a)).not.toBe(folderName(b))
        const spelled = idIn(folderName(a))
        if (folderName(a).startsWith('s-')) expect(spelled).toBe(a)
        else expect(spelled).toBe(undefined)
      }),
      { numRuns: 500 },
    )
  })

  it('names that spell nothing are nobody’s', () => {
    for (const name of ['s-', 's-A', 's-=4', 's-=zz', 's-=61', 's-=ff', 'x-a', '', 's-=2E'])
      expect(idIn(name)).toBe(undefined)
  })
})
