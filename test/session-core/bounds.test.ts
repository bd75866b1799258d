import { defineBracket, type SessionEvent } from '@tidemark/session-core'
import { afterEach, expect, it, vi } from 'vitest'
import { foldBracket, insideMax, nothingOpen } from '../../packages/session-core/src/bracket.ts'
import { Delivery, listenersMsMax, nestedAppendsMax } from '../../packages/session-core/src/delivery.ts'
import type { Host } from '../../packages/session-core/src/host.ts'

afterEach(() => {
  vi.useRealTimers()
})

const eventOf = (seq: number, type: string): SessionEvent =>
  ({ seq, time: 0, type, data: {} }) as unknown as SessionEvent

it('an opening holds the events inside it up to the limit, and none past it', () => {
  const bracket = defineBracket({
    name: 'b',
    open: 'turn/start',
    close: 'turn/end',
    inside: ['user/message'],
  })
  let state = foldBracket(bracket, nothingOpen, eventOf(0, 'turn/start'))
  for (let seq = 1; seq <= insideMax; seq++) state = foldBracket(bracket, state, eventOf(seq, 'user/message'))
  expect(state.live[0]?.inside).toHaveLength(insideMax)
  const past = foldBracket(bracket, state, eventOf(insideMax + 1, 'user/message'))
  expect(past.live[0]?.inside.at(-1)?.seq).toBe(insideMax)
})

/** A host with one listener, and what it was warned of. */
function hostWith(listener: () => unknown): { host: Host; warnings: unknown[] } {
  const warnings: unknown[] = []
  const host = {
    events: { dispatch: () => [listener] },
    logger: { warn: (text: unknown) => warnings.push(text), error: (error: unknown) => warnings.push(error) },
  }
  return { host: host as unknown as Host, warnings }
}

it('what listeners cause in one delivery is told up to the limit, and refused past it', () => {
  let told = 0
  const { host } = hostWith(() => {
    told += 1
    delivery.refuseEndless()
    delivery.tell('again')
  })
  const delivery = new Delivery(host)
  delivery.tell('first')
  expect(told).toBe(nestedAppendsMax + 1)
  expect(() => delivery.refuseEndless()).not.toThrow()
})

it('an awaited event goes on without a listener that never answers, and says so', async () => {
  vi.useFakeTimers()
  const { host, warnings } = hostWith(() => new Promise<never>(() => undefined))
  let isOver = false
  const asked = new Delivery(host).ask('tidemark/flush').then(() => (isOver = true))
  await vi.advanceTimersByTimeAsync(listenersMsMax - 1)
  expect(isOver).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  await asked
  expect(warnings).toHaveLength(1)
})
