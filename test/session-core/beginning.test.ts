import {
  SessionError,
  SessionSeed,
  type EventDefinition,
  type SessionSource,
  type SessionView,
  type Sessions,
} from '@tidemark/session-core'
import type {} from '@tidemark/session-core/cordis'
import { z } from 'zod'
import { describe, expect, it } from 'vitest'
import { startHost } from './host.ts'
import { FakeRecorder } from './recorder.ts'
import { codeOf } from './refusal.ts'

type Begins = NonNullable<EventDefinition['begins']>

declare module '@tidemark/session-core' {
  interface SessionEventMap {
    'test/begun': { readonly from: string }
  }
}

const schema = z.strictObject({ from: z.string() })

function define(sessions: Sessions, begins: Begins): () => void {
  return sessions.define({ owner: 'test', events: { 'test/begun': { schema, begins } } })
}

describe('what accompanies what is written', () => {
  const accompanied = async () => {
    const { sessions } = await startHost()
    const events = { 'test/begun': { schema, accompanies: true } } as const
    sessions.define({ owner: 'test', events })
    return sessions
  }

  it('is recorded in a session that has ended, while that is being written, and nothing else is', async () => {
    const sessions = await accompanied()
    const recorder = new FakeRecorder()
    const session = sessions.create({ recorder })
    session.append('turn/start', {})
    let go = (): void => undefined
    recorder.held = new Promise((resolve) => (go = resolve))
    const disposed = sessions.dispose(session)
    expect(codeOf(() => session.append('turn/end', { reason: 'completed' }))).toBe('DISPOSED')
    session.append('test/begun', { from: 'elsewhere' })
    go()
    await disposed
    recorder.refuseWith = new SessionError('DISPOSED', 'closed')
    expect(codeOf(() => session.append('test/begun', { from: 'too late' }))).toBe('DISPOSED')
    expect(typesOf(session)).toEqual(['turn/start', 'test/begun'])
  })

  it('is told to the writer as such', async () => {
    const sessions = await accompanied()
    const recorder = new FakeRecorder()
    const session = sessions.create({ recorder })
    session.append('turn/start', {})
    session.append('test/begun', { from: 'here' })
    expect(recorder.accompanying).toEqual(['test/begun'])
  })

  it('is refused as anything else in a session that is memory only and over', async () => {
    const sessions = await accompanied()
    const session = sessions.create()
    await sessions.dispose(session)
    expect(codeOf(() => session.append('test/begun', { from: 'too late' }))).toBe('DISPOSED')
  })
})

const told = (source: SessionSource): string =>
  source === undefined ? 'nowhere' : source === 'unreadable' ? source : `${source.id}:${source.log.length}`

const typesOf = ({ log }: SessionView): string[] => [...log].map(({ type }) => type)

describe('what a session begins with', () => {
  it('is its first own event after the boundary, whichever way it is made', async () => {
    const { sessions } = await startHost()
    const asked: SessionSource[] = []
    define(sessions, (_, source) => {
      asked.push(source)
      return { from: told(source) }
    })
    const parent = sessions.create({ id: 'parent' })
    expect(typesOf(parent)).toEqual(['test/begun'])
    parent.append('turn/start', {})
    parent.append('turn/end', { reason: 'completed' })
    const fork = sessions.fork(parent, { through: 0 })
    expect(typesOf(fork)).toEqual(['test/begun', 'session/resumed', 'test/begun'])
    expect(fork.log.last?.data).toEqual({ from: 'parent:3' })
    sessions.create({ seed: parent.seed(1) })
    sessions.create({ seed: [...parent.log] })
    const header = sessions.forkHeader(parent.header, 0)
    sessions.create({ header, seed: parent.log.range(0, 0) })
    const orphan = sessions.forkHeader({ id: 'gone', createdAt: 0 }, 0)
    sessions.create({ header: orphan, seed: parent.log.range(0, 0) })
    sessions.create({ seed: sessions.view(parent.header, parent.log).seed(0) })
    const part = sessions.replay(parent.header, { isPart: true })
    part.push(parent.log.range(0, 0))
    sessions.create({ seed: part.view.seed() })
    expect(asked.map(told)).toEqual([
      'nowhere',
      ...['parent:3', 'parent:3', 'nowhere', 'parent:3', 'unreadable', 'parent:3', 'unreadable'],
    ])
  })

  it('is nothing where the definition says nothing, and after it is gone', async () => {
    const { sessions } = await startHost()
    const undo = define(sessions, () => undefined)
    expect(typesOf(sessions.create())).toEqual([])
    undo()
    expect(sessions.vocabulary.beginning).toEqual([])
  })

  it.each<[string, Begins]>([
    [
      'throws',
      () => {
        throw new RangeError('no')
      },
    ],
    ['gives what its schema refuses', () => ({ from: 1 })],
    ['gives what is not lossless JSON', () => new Date()],
  ])('a definition that %s keeps the session from being made', async (_, begins) => {
    const { sessions } = await startHost()
    define(sessions, begins)
    expect(codeOf(() => sessions.create({ id: 'a' }))).toBe('INVALID_EVENT')
    expect(sessions.find('a')).toBeUndefined()
  })

  it('no type that changes what is shown of earlier events may be one', async () => {
    const { sessions } = await startHost()
    const amends = (): undefined => undefined
    const events = { 'test/begun': { schema, amends, begins: () => undefined } }
    expect(codeOf(() => sessions.define({ owner: 'test', events }))).toBe('INVALID_EVENT')
  })

  it('a fork does not keep the session in memory that it was made of', async () => {
    const { sessions } = await startHost()
    const parent = sessions.create()
    parent.append('turn/start', {})
    const held: unknown = Reflect.get(sessions.fork(parent), 'init')
    expect(Object.values(held as object).some((each) => each === parent || each instanceof SessionSeed)).toBe(
      false,
    )
  })
})
