import { SessionError, assertLossless, isSessionError } from '@tidemark/session-core'
import { describe, expect, it } from 'vitest'
import { startHost } from './host.ts'

/** All that is told of a refusal. */
function toldOf(ask: () => unknown): { message: string; path: unknown; all: string } {
  try {
    ask()
  } catch (error) {
    if (!isSessionError(error)) throw error
    const { message, details } = error
    return { message, path: details.path, all: `${message} ${JSON.stringify(details)}` }
  }
  throw new TypeError('nothing was refused')
}

describe('a refusal', () => {
  it.each([
    ['AKIAIOSFODNN7EXAMPLE', 'data.arguments.(key)'],
    ['ghp_16C7e42F292c6912E7710c838347Ae178B4a', 'data.arguments.(key)'],
    ['sk-live', 'data.arguments.(key)'],
    ['a'.repeat(25), 'data.arguments.(key)'],
    ['Alice', 'data.arguments.(key)'],
    ['a'.repeat(24), `data.arguments.${'a'.repeat(24)}`],
    ['filePath', 'data.arguments.filePath'],
  ])('G30: names the key %j only if it reads like the name of a field', (key, path) => {
    const told = toldOf(() => assertLossless({ arguments: { [key]: undefined } }, { type: 'tool/call' }))
    expect(told.path).toBe(path)
    expect(told.all.includes(key)).toBe(!path.endsWith('(key)'))
  })

  it('G30: names no key that a schema does not know, unless it reads like the name of a field', async () => {
    const ctx = await startHost()
    const session = ctx.sessions.create()
    const append = (more: object) => () => session.append('user/message', { parts: [], ...more })
    expect(toldOf(append({ ghp_16C7e42F292c6912E: 1 })).all).not.toContain('ghp_16')
    expect(toldOf(append({ extra: 1 })).message).toContain('extra')
  })

  it('is one line that a terminal shows and does not obey; its details hold what was asked for', () => {
    const sessionId = 'x\n2026-11-30 root logged in\u001b[31m\u202e\u2028\ud800'
    const { message, details } = new SessionError('EXISTS', `${sessionId}: is taken – schön 🌊`, {
      sessionId,
    })
    expect(message).toBe(
      'x\\u{000a}2026-11-30 root logged in\\u{001b}[31m\\u{202e}\\u{2028}\\u{d800}: is taken – schön 🌊',
    )
    expect(details.sessionId).toBe(sessionId)
  })
})
