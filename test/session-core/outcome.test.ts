import type { Session, SessionHeader, Sessions, SessionView } from '@tidemark/session-core'
import { beforeEach, describe, expect, it } from 'vitest'
import { startHost } from './host.ts'
import { lines, resultShown, speaker } from './speaker.ts'

let sessions: Sessions
let session: Session
let callSeq: number

beforeEach(async () => {
  sessions = (await startHost()).sessions
  session = sessions.create()
  const say = speaker(session)
  say.turn()
  say.step()
  callSeq = say.call()
})

const outcome = (view: SessionView): string | undefined => resultShown(view, callSeq).outcome
const renamed = (header: SessionHeader): SessionHeader => ({ ...header, id: crypto.randomUUID() })
const resume = (from: Session): Session =>
  sessions.create({ seed: JSON.parse(JSON.stringify([...from.log])) as [], header: renamed(from.header) })

describe('what the model is told of a call without a result', () => {
  it('is that it is running while it is live', () => {
    expect(outcome(session)).toBe('running')
  })

  it.each(['endStep', 'endTurn', 'step', 'turn'] as const)(
    'is that it was interrupted after %s',
    (ending) => {
      speaker(session)[ending]()
      expect(outcome(session)).toBe('interrupted')
    },
  )

  it('is that its outcome is unknown after a resume', () => {
    expect(outcome(resume(session))).toBe('unknown')
    expect(outcome(session)).toBe('running')
  })

  it('is that it goes on in the parent, in a fork', () => {
    expect(outcome(sessions.fork(session))).toBe('in-parent')
    expect(outcome(session)).toBe('running')
  })

  it('is the same in a fork of a fork, in a resumed fork, and in a fork of a resumed fork', () => {
    const child = sessions.fork(session)
    const family = [child, resume(child), sessions.fork(child), sessions.fork(resume(child))]
    const grandchild = sessions.fork(family[3]!)
    expect([...family, resume(grandchild)].map(outcome)).toEqual(Array(5).fill('in-parent'))
  })

  it('does not change by a later resume, fork or end of a turn', () => {
    const resumed = resume(session)
    const child = sessions.fork(resumed)
    speaker(child).turn()
    speaker(child).endTurn()
    expect([outcome(child), outcome(sessions.fork(child)), outcome(resume(child))]).toEqual(
      Array(3).fill('unknown'),
    )
    speaker(session).endStep()
    expect([outcome(sessions.fork(session)), outcome(resume(session))]).toEqual(Array(2).fill('interrupted'))
  })

  it('differs from call to call by where each was cut', () => {
    const child = sessions.fork(session)
    const own = speaker(child).call()
    const grandchild = sessions.fork(child)
    const last = speaker(grandchild).call()
    const resumed = resume(grandchild)
    const outcomes = [callSeq, own, last].map((seq) => resultShown(resumed, seq).outcome)
    expect(outcomes).toEqual(['in-parent', 'in-parent', 'unknown'])
  })

  it('is unknown in a fork that resumes at the very seq where its own parent was cut off', () => {
    const child = sessions.fork(session)
    const cut = child.header.parent!.seq
    const grandchild = sessions.fork(child, { through: 0 })
    const say = speaker(grandchild)
    let seq = grandchild.log.length
    while (grandchild.log.length <= cut) seq = say.call()
    expect(seq).toBe(cut)
    const resumed = resume(grandchild)
    expect(resumed.boundarySeq).toBe(cut + 1)
    expect(resultShown(resumed, seq).outcome).toBe('unknown')
  })

  it('is unknown in a replay of a fork under a new header, live as well as read cold', () => {
    const child = sessions.fork(session)
    child.messages()
    const replay = sessions.create({ seed: child.seed() })
    const cold = sessions.view(replay.header, [...replay.log])
    expect([outcome(replay), outcome(cold)]).toEqual(['unknown', 'unknown'])
  })

  it('is a text for each cause, none of which promises that it did not happen', () => {
    const ended = resume(session)
    speaker(session).endTurn()
    const texts = [session, ended, sessions.fork(ended)].map((view) => resultShown(view, callSeq).text)
    expect(texts.every((text) => text !== undefined && /unknown/.test(text))).toBe(true)
    expect(texts[0]).not.toBe(texts[1])
    expect(texts[1]).toBe(texts[2])
  })
})

describe('a late result', () => {
  it('G8: stands at its own position, and leaves the old place as it was', () => {
    const resumed = resume(session)
    const say = speaker(resumed)
    say.user('go on')
    say.result(callSeq, 'late')
    say.said('thanks')
    expect(lines(resumed)).toEqual([
      `assistant: +call-${callSeq}`,
      `tool: call-${callSeq}=unknown`,
      'user: go on',
      expect.stringMatching(/^user: .*call-2.* late$/),
      'assistant: thanks',
    ])
    const late = resumed.messages()[3]
    expect(late?.parts.every((part) => 'author' in part && part.author === 'tool')).toBe(true)
    expect(lines(sessions.fork(resumed))).toEqual(lines(resumed))
  })

  it('goes to the session that it was appended to, and not to parent or child', () => {
    const child = sessions.fork(session)
    speaker(session).result(callSeq)
    expect([outcome(session), outcome(child)]).toEqual(['ok', 'in-parent'])
    speaker(child).result(callSeq, 'late')
    expect(session.log.length).toBe(4)
    expect(lines(session)).toHaveLength(2)
  })

  it('in the middle of a stream or a step splits no call from its result', () => {
    const resumed = resume(session)
    const say = speaker(resumed)
    say.said('next')
    const first = say.call()
    say.result(callSeq, 'late')
    const second = say.call()
    say.result(second)
    say.result(first)
    expect(lines(resumed).slice(2)).toEqual([
      `assistant: next +call-${first}`,
      `tool: call-${first}=ok`,
      expect.stringContaining('late'),
      `assistant: +call-${second}`,
      `tool: call-${second}=ok`,
    ])
  })
})
