import { existsSync } from 'node:fs'
import { defineProjection, type Session } from '@tidemark/session-core'
import { MemoryStorage } from '@tidemark/session-persistence/memory'
import type { Context } from 'cordis'
import { describe, expect, it } from 'vitest'
import { folderOf } from './files.ts'
import { hostOn } from './foreign-host.ts'
import { say, startJournal } from './host.ts'
import { codeOf } from './refusal.ts'
import { scratch } from './scratch.ts'
import { wholeHistory } from './window/told.ts'

const config = { snapshotEvents: 50, retainEvents: 5 }
const texts = defineProjection<readonly string[]>({
  name: 'texts',
  version: 1,
  init: () => [],
  apply: (state, { data }) => [...state, JSON.stringify(data)],
})

/** Appends until something was let go of. */
async function talked(session: Session, text: string, length: number): Promise<void> {
  while (session.log.length < length) {
    for (let count = 0; count < 40; count++) say(session, text)
    await session.flush()
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Two hosts with the same store. */
type Stores = () => Promise<{ one: Context; other: Context; has: (id: string) => boolean }>

const stores: Record<string, Stores> = {
  journal: async () => {
    const root = scratch()
    const has = (id: string): boolean => existsSync(folderOf(root, id))
    return { one: await startJournal(root, config), other: await startJournal(root, config), has }
  },
  memory: async () => {
    const storage = new MemoryStorage()
    const other = await hostOn(storage, config)
    const ids = new Set<string>()
    const create = storage.fork.bind(storage)
    storage.fork = async (source, header, claim) => {
      const lease = await create(source, header, claim)
      ids.add(header.id)
      return lease
    }
    return { one: await hostOn(storage, config), other, has: (id) => ids.has(id) }
  },
}

async function replaced(store: Stores, length: number) {
  const { one, other, has } = await store()
  const session = await one.sessionPersistence.create({ id: 'a' })
  await talked(session, 'old', length)
  await other.sessionPersistence.remove('a', { force: true })
  const heir = await other.sessionPersistence.create({ id: 'a' })
  await talked(heir, 'new', length + 100)
  return { one, session, has }
}

describe.each(Object.entries(stores))(
  'in the %s, a session whose id became another one’s',
  (_kind, store) => {
    it.each([
      ['that holds all its events', 40],
      ['that let go of some', 200],
    ])('G10: is forked %s into nothing at all', async (_, length) => {
      const { one, session, has } = await replaced(store, length)
      for (const source of [session, 'a'])
        expect(await codeOf(() => one.sessionPersistence.fork(source, { id: 'c' }))).toBe('CORRUPT')
      expect(await codeOf(() => one.sessionPersistence.fork(session, { id: 'c', through: 7 }))).toBe(
        'CORRUPT',
      )
      expect(has('c')).toBe(false)
      expect(one.sessions.find('c')).toBeUndefined()
    })
  },
)

describe('a session, or a view of one,', () => {
  it('G36: it reads its own past, and is forked, after another process took it over and wrote on', async () => {
    const root = scratch()
    const [one, other] = [await startJournal(root, config), await startJournal(root, config)]
    const session = await one.sessionPersistence.create({ id: 'a' })
    await talked(session, 'mine', 200)
    const { length } = session.log
    const next = await other.sessionPersistence.resume('a', { force: true })
    await talked(next, 'theirs', length + 200)
    expect((await wholeHistory(session)).map(({ seq }) => seq)).toEqual(
      Array.from({ length }, (_, seq) => seq),
    )
    const child = await one.sessionPersistence.fork(session, { id: 'c', through: 150 })
    expect(child.log.length).toBe(152)
  })

  it('G38: it serves its own past although the id was removed and used again, or refuses to', async () => {
    const root = scratch()
    const [one, other] = [await startJournal(root, config), await startJournal(root, config)]
    const session = await other.sessionPersistence.create({ id: 'a' })
    await talked(session, 'old', 200)
    const view = await one.sessionPersistence.inspect('a')
    expect(view.log.base).toBeGreaterThan(0)
    expect((await view.history({ from: 0, through: 10 })).events).toHaveLength(11)
    await other.sessionPersistence.remove('a', { force: true })
    expect(await codeOf(() => view.history({ from: 0, through: 10 }))).toBe('NOT_FOUND')
    const heir = await one.sessionPersistence.create({ id: 'a' })
    await talked(heir, 'new', 300)
    expect(await codeOf(() => view.history({ from: 0, through: 10 }))).toBe('CORRUPT')
  })

  it('G36: reads nothing of another session that bears its id by now as its own past', async () => {
    const { one, session } = await replaced(stores.journal!, 200)
    expect(session.log.base).toBeGreaterThan(10)
    for (const request of [{ from: 0, through: 10 }, { order: 'backward', through: 3 }, {}] as const)
      expect(await codeOf(() => session.history(request))).toBe('CORRUPT')
    one.sessions.define({ owner: 'late', projections: [texts] })
    expect(await codeOf(() => session.load(texts))).toBe('CORRUPT')
    expect(await codeOf(() => session.read(texts))).toBe('NOT_LOADED')
    say(session, 'more')
    expect(await codeOf(() => session.flush())).toBe('FENCED')
    expect(await codeOf(() => session.history({ from: 0, through: 10 }))).toBe('CORRUPT')
  })
})
