import { join } from 'node:path'
import type { FlushReceipt, Session } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it } from 'vitest'
import { hashOf } from './files.ts'
import { say, start, startJournal, stop } from './host.ts'
import { refusalOf } from './refusal.ts'
import { scratch } from './scratch.ts'

let root: string
let ctx: Context
/** What the listener says to everybody. */
let isAllowed: boolean
let asked: string[]

beforeEach(async () => {
  root = join(scratch(), 'root')
  const before = await start({ enabled: true, root })
  say(await before.ctx.sessionPersistence.create({ id: 'known' }), 'stored')
  await stop(before)
  ctx = await startJournal(root, { authorize: 'required' })
  isAllowed = false
  asked = []
  ctx.on('tidemark/authorize', ({ operation, allow, deny }) => {
    asked.push(operation)
    if (isAllowed) allow()
    else deny()
  })
})

const as = 'a stranger'

type Call = (id: string) => Promise<unknown>

/** Each asks under the name of its own operation, and is refused as for an id that does not exist. */
const refused: Readonly<Record<string, Call>> = {
  create: (id) => ctx.sessionPersistence.create({ id, as }),
  resume: (id) => ctx.sessionPersistence.resume(id, { as }),
  fork: (id) => ctx.sessionPersistence.fork(id, { id: 'child', as }),
  inspect: (id) => ctx.sessionPersistence.inspect(id, { as }),
  history: (id) => ctx.sessionPersistence.history(id, { as }),
  follow: (id) => ctx.sessionPersistence.follow(id, { as }).next(),
  verify: (id) => ctx.sessionPersistence.verify(id, { as }),
  repair: (id) => ctx.sessionPersistence.repair(id, { as, acceptLossAfter: 0 }),
  salvage: (id) => ctx.sessionPersistence.salvage(id, { as, id: 'child' }),
  remove: (id) => ctx.sessionPersistence.remove(id, { as }),
}

/** Where no id is asked for: what there is is not shown. */
const hidden: Readonly<Record<string, () => Promise<unknown>>> = {
  list: async () => (await ctx.sessionPersistence.list({ as })).sessions,
}

const notOfTheService: Readonly<Record<string, string>> = {
  state: 'says whether persistence is on, and by what',
  ctx: 'the context of whoever asks',
  stored: 'private, and all that it does is asked for through the methods',
  enabled: 'private: the part that is on',
  sessions: 'private: the service of core, in memory',
}

const open = async (): Promise<Session> => {
  isAllowed = true
  const session = await ctx.sessionPersistence.resume('known', { as })
  say(session, 'while it was allowed')
  await session.flush()
  isAllowed = false
  asked = []
  return session
}

/** Ends in an event that is not written: the call was asked about, and said no. */
const writes: Readonly<Record<string, (session: Session) => Promise<FlushReceipt>>> = {
  'Sessions.flush': (session) => ctx.sessions.flush(session),
  'Session.flush': (session) => session.flush(),
}

/** What `ctx.sessions` and an open session do without asking, and why nothing stored is given to a stranger by it. */
const withoutAsking: Readonly<Record<string, string>> = {
  'Sessions.create': 'memory only, unless a storage gives it a writer',
  'Sessions.fork': 'memory only',
  'Sessions.newHeader': 'memory only',
  'Sessions.forkHeader': 'memory only',
  'Sessions.view': 'of events that the caller has',
  'Sessions.replay': 'of events that the caller has',
  'Sessions.find': 'a session that lives in this process, whose plugins are trusted',
  'Sessions.isOwnedBy': 'memory only',
  'Sessions.dispose': 'flushes, which is asked about, and ends',
  'Sessions.disposeAll': 'as dispose',
  'Sessions.define': 'the vocabulary',
  'Sessions.tellDurable': 'the bus',
  'Sessions.tellRecovered': 'the bus',
  'Sessions.refuseInactive': 'private, and refuses',
  'Sessions.end': 'private: as dispose',
  'Sessions.endOnce': 'private: as dispose',
  'Session.append': 'memory; the write that follows is asked about',
  'Session.abandon': 'as append',
  'Session.release': 'lets go of memory',
  'Session.end': 'memory only',
  'Session.durableSeq': 'memory only',
  'Session.kind': 'memory only',
  'Session.endsAtBoundary': 'private, in memory',
  'Session.compose': 'private, in memory',
  'Session.admitted': 'private, in memory',
  'Session.record': 'private, in memory',
  'Session.refuseEnded': 'private, in memory',
  'Session.commit': 'private, in memory',
  'View.id': 'of what was opened',
  'View.boundarySeq': 'of what was opened',
  'View.read': 'of what was opened',
  'View.open': 'of what was opened',
  'View.spans': 'of what was opened',
  'View.messages': 'of what was opened',
  'View.seed': 'of what was opened',
  'View.snapshot': 'of what was opened',
  'View.foldedVersions': 'of what was opened',
  'View.keepStates': 'in memory, for the next snapshot',
  'View.load': 'reads older events of what its caller was let at when it was opened',
  'View.loadAll': 'as load',
  'View.history': 'as load; `ctx.sessionPersistence.history` asks each time',
  'View.pages': 'private: as load',
  'View.stored': 'private: as load',
}

const methodsOf = (prototype: object): string[] =>
  Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor')

describe('authorize: required covers the whole surface', () => {
  it('G32: no operation of the service was forgotten here', () => {
    const service: object = ctx.sessionPersistence
    const names = new Set([...methodsOf(Object.getPrototypeOf(service) as object), ...Object.keys(service)])
    const known = [...Object.keys(refused), ...Object.keys(hidden), ...Object.keys(notOfTheService)]
    expect([...names].sort()).toEqual(known.filter((name) => names.has(name)).sort())
    expect(Object.keys({ ...refused, ...hidden }).filter((name) => !names.has(name))).toEqual([])
  })

  it('G32: nothing that sessions do was forgotten here', async () => {
    const session = await open()
    const prototype = Object.getPrototypeOf(session) as object
    const found = [
      ...methodsOf(Object.getPrototypeOf(ctx.sessions) as object).map((name) => `Sessions.${name}`),
      ...methodsOf(prototype).map((name) => `Session.${name}`),
      ...methodsOf(Object.getPrototypeOf(prototype) as object).map((name) => `View.${name}`),
    ]
    expect(found.sort()).toEqual([...Object.keys(writes), ...Object.keys(withoutAsking)].sort())
  })

  it.each(Object.keys(refused))(
    'G32: %s is asked about, and refused as for an id that does not exist',
    async (operation) => {
      const before = hashOf(root, 'known')
      const refusal = await refusalOf(() => refused[operation]!('known'))
      expect(asked).toEqual([operation])
      const unknown = await refusalOf(() => refused[operation]!('other'))
      expect(refusal.code).toBe('NOT_FOUND')
      expect(JSON.stringify(refusal.details)).toBe(
        JSON.stringify(unknown.details).replaceAll('other', 'known'),
      )
      expect(refusal.message.replaceAll('known', 'other')).toBe(unknown.message)
      expect(hashOf(root, 'known')).toBe(before)
    },
  )

  it.each(Object.keys(hidden))('G32: %s is asked about, and shows nothing', async (operation) => {
    expect(await hidden[operation]!()).toEqual([])
    expect(asked).toEqual([operation])
  })

  it.each(Object.keys(writes))('G32: %s is asked about, and writes nothing', async (how) => {
    const session = await open()
    const before = hashOf(root, 'known')
    say(session, 'not any more')
    expect((await refusalOf(() => writes[how]!(session))).code).toBe('DENIED')
    expect(asked).toEqual(['flush'])
    expect(hashOf(root, 'known')).toBe(before)
  })

  it('G32: the end of a session that may not be written to takes no snapshot and writes nothing', async () => {
    const session = await open()
    const before = hashOf(root, 'known')
    say(session, 'not any more')
    await ctx.sessions.dispose(session)
    expect(hashOf(root, 'known')).toBe(before)
    isAllowed = true
    expect((await ctx.sessionPersistence.inspect('known', { as })).log.length).toBe(session.durableSeq + 1)
  })
})
