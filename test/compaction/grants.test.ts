import { authorizeFactMsMax, type AuthorizeFactRequest } from '@tidemark/compaction'
import * as persistence from '@tidemark/session-persistence'
import type {} from '@tidemark/session-persistence/cordis'
import type { Session } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { codeOf, startHost, types } from './host.ts'

const wish = { key: 'rule', text: 'push at will' }

let ctx: Context
let session: Session
/** The plugin that owns the session, and one that does not. */
let owner: Context
let stranger: Context

async function guest(host: Context, name: string): Promise<Context> {
  let inner: Context | undefined
  const apply = (own: Context): void => {
    inner = own
  }
  await host.plugin({ name, inject: ['sessions', 'compaction'], apply })
  if (inner === undefined) throw new TypeError('not loaded')
  return inner
}

beforeEach(async () => {
  ctx = await startHost()
  owner = await guest(ctx, 'owner')
  stranger = await guest(ctx, 'stranger')
  session = owner.sessions.create()
})

const answering = (answer: (request: AuthorizeFactRequest) => unknown): void =>
  void ctx.on('tidemark/authorize-fact', answer as () => void)

describe('a fact that a model asks for', () => {
  it('is pinned where every listener that answers allows it, and the question says what it is', async () => {
    const asked: unknown[] = []
    answering(({ allow, deny: _deny, ...question }) => (asked.push(question), allow()))
    answering(() => undefined)
    expect(await stranger.compaction.requestPin(session, wish)).toMatchObject({
      ...wish,
      by: 'a model, through stranger',
    })
    const by = 'a model, through stranger'
    expect(asked).toEqual([{ session, operation: 'pin', ...wish, by, through: 'stranger' }])
    await stranger.compaction.requestPin(session, { ...wish, text: 'otherwise' })
    expect(asked[1]).toMatchObject({ text: 'otherwise', textInForce: wish.text })
    expect(await stranger.compaction.requestUnpin(session, 'rule')).toBe(true)
    expect(asked[2]).toEqual({
      session,
      operation: 'unpin',
      key: 'rule',
      by,
      textInForce: 'otherwise',
      through: 'stranger',
    })
    expect(types(session)).toEqual(['fact/pinned', 'fact/pinned', 'fact/unpinned'])
  })

  it('is recorded as asked for by a model, whoever the caller says it is, and the question says so', async () => {
    const asked: AuthorizeFactRequest[] = []
    answering((request) => (asked.push(request), request.allow()))
    const { seq: sourceSeq } = session.append('user/message', { parts: [] })
    const input = { ...wish, sourceSeq, by: 'human' } as typeof wish
    const by = 'a model, through stranger'
    expect(await stranger.compaction.requestPin(session, input)).toMatchObject({ ...wish, by, sourceSeq })
    expect(asked).toMatchObject([{ by, sourceSeq }])
    const { requestUnpin } = stranger.compaction
    await (requestUnpin as (...args: unknown[]) => Promise<boolean>).call(
      stranger.compaction,
      session,
      'rule',
      { by: 'human' },
    )
    expect(session.log.last).toMatchObject({ type: 'fact/unpinned', data: { by } })
    // @ts-expect-error who asks is not the caller's to say
    void (() => stranger.compaction.requestPin(session, { ...wish, by: 'human' }))
  })

  it.each<[string, (request: AuthorizeFactRequest) => unknown]>([
    ['denies', ({ deny }) => deny()],
    ['denies and allows', ({ allow, deny }) => (deny(), allow())],
    ['throws', ({ allow }) => (allow(), [].at(0)!)['x']],
    ['rejects', async ({ allow }) => (allow(), Promise.reject(new TypeError('no')))],
  ])('is refused where one listener %s, whatever others say, also to the owner', async (_how, answer) => {
    owner.compaction.pin(session, { key: 'kept', text: 'kept' })
    answering(({ allow }) => allow())
    answering(answer)
    for (const who of [owner, stranger]) {
      expect(await codeOf(() => who.compaction.requestPin(session, wish))).toBe('DENIED')
      expect(await codeOf(() => who.compaction.requestUnpin(session, 'kept'))).toBe('DENIED')
    }
    expect(types(session)).toEqual(['fact/pinned'])
  })

  it('is refused where a listener gives no answer in time, and a late one does not count', async () => {
    vi.useFakeTimers()
    try {
      answering(() => new Promise(() => undefined))
      const asked = codeOf(() => owner.compaction.requestPin(session, wish))
      await vi.advanceTimersByTimeAsync(authorizeFactMsMax)
      expect(await asked).toBe('DENIED')
    } finally {
      vi.useRealTimers()
    }
    expect(types(session)).toEqual([])
  })

  it('is left to the plugin that owns the session where nobody answers', async () => {
    expect(await codeOf(() => stranger.compaction.requestPin(session, wish))).toBe('DENIED')
    expect(await codeOf(() => ctx.compaction.requestPin(session, wish))).toBe('DENIED')
    expect(await owner.compaction.requestPin(session, wish)).toMatchObject(wish)
    answering(() => undefined)
    expect(await codeOf(() => stranger.compaction.requestUnpin(session, 'rule'))).toBe('DENIED')
    expect(await owner.compaction.requestUnpin(session, 'rule')).toBe(true)
  })

  it('of a stored session, the plugin that created or resumed it owns it', async () => {
    await ctx.plugin(persistence, { enabled: false })
    const mine = await (owner.get('sessionPersistence') as persistence.Persistence).create({ id: 'mine' })
    expect(await owner.compaction.requestPin(mine, wish)).toMatchObject(wish)
    expect(await codeOf(() => stranger.compaction.requestPin(mine, { text: 'x' }))).toBe('DENIED')
  })

  it('is asked about as it was when it was asked for: nothing else is done under that yes', async () => {
    const input = { ...wish }
    answering(({ allow }) => {
      input.text = 'something else'
      allow()
    })
    expect(await stranger.compaction.requestPin(session, input)).toMatchObject(wish)
    let release = (): void => undefined
    const gate = new Promise<void>((resolve) => (release = resolve))
    answering(async ({ allow }) => (await gate, allow()))
    const unpinning = codeOf(() => stranger.compaction.requestUnpin(session, 'rule'))
    await new Promise(setImmediate)
    owner.compaction.pin(session, { key: 'rule', text: 'never push' })
    release()
    expect(await unpinning).toBe('DENIED')
    expect(owner.compaction.facts(session).map(({ text }) => text)).toEqual(['never push'])
  })

  it('that is in force already, or is no fact, is answered without asking anybody', async () => {
    const asked = vi.fn()
    answering(asked)
    const by = 'a model, through stranger'
    owner.compaction.pin(session, { ...wish, by })
    expect(await stranger.compaction.requestPin(session, wish)).toMatchObject(wish)
    expect(await stranger.compaction.requestUnpin(session, 'nobody')).toBe(false)
    expect(await codeOf(() => stranger.compaction.requestPin(session, { text: ' ' }))).toBe('INVALID_EVENT')
    expect(asked).not.toHaveBeenCalled()
  })
})
