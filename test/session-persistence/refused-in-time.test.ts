import type { Host, SessionHeader } from '@tidemark/session-core'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Authorization } from '../../packages/session-persistence/src/authorization.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const after = (durationMs: number): Promise<void> =>
  durationMs === 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, durationMs))

interface Slowness {
  /** How long it takes to look for what is stored, and to hear that the answer is no. */
  readonly lookMs: number
  readonly answerMs: number
  readonly isKnown: boolean
}

/** After how many milliseconds, by a clock that stands still but for this, a caller is told no. */
async function refusedAfter({ lookMs, answerMs, isKnown }: Slowness): Promise<number> {
  const listener = async ({ deny }: { deny: () => void }): Promise<void> => {
    await after(answerMs)
    deny()
  }
  const host = {
    events: { dispatch: () => [listener] },
    logger: { error: () => undefined },
  } as unknown as Host
  const headerOf = async (id: string): Promise<SessionHeader | undefined> => {
    await after(lookMs)
    return isKnown ? { id, createdAt: 0 } : undefined
  }
  const authorization = new Authorization(host, 'required', headerOf)
  const start = performance.now()
  let told: number | undefined
  const note = (): void => void (told = performance.now() - start)
  const asked = authorization
    .require({ operation: 'resume', sessionId: 'one', as: 'me' })
    .then(() => expect.unreachable('it was let in'), note)
  for (let ms = 0; told === undefined && ms < 20_000; ms++) await vi.advanceTimersByTimeAsync(1)
  await asked
  return told ?? Infinity
}

describe('how long a refusal takes', () => {
  it.each<[number, number, number]>([
    // looking, answering, told after
    [0, 1, 50],
    [1, 0, 50],
    [20, 29, 50],
    [20, 31, 100],
    [0, 99, 100],
    [120, 3, 150],
  ])(
    'G32: of %i ms to look and %i ms to answer nothing is seen but %i ms',
    async (lookMs, answerMs, told) => {
      for (const isKnown of [true, false])
        expect(await refusedAfter({ lookMs, answerMs, isKnown })).toBe(told)
    },
  )

  it('G32: what is stored, and is found fast or slowly, is refused when what is not is', async () => {
    const known = await refusedAfter({ lookMs: 38, answerMs: 4, isKnown: true })
    const unknown = await refusedAfter({ lookMs: 2, answerMs: 1, isKnown: false })
    expect([known, unknown]).toEqual([50, 50])
  })

  it('G32: a listener that never answers is told as late, at a multiple', async () => {
    expect(await refusedAfter({ lookMs: 7, answerMs: 60_000, isKnown: true })).toBe(10_050)
  })
})
