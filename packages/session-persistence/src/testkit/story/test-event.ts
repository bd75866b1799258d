import type { AnySessionEvent, SessionRecovered } from '@tidemark/session-core'
import { encodeEvent, type EncodedEvent } from '../../encoded-event.ts'
import type { Seeded } from '../seeded.ts'

/** Text that a reader which looks for lines in the wrong place takes for its own. */
const awkward = [
  '\n{"seq":3,"time":1}\n',
  '{"commit":{"from":0,"to":9}}',
  '\u0000\u2028',
  '"}}\\',
  '{"seq":0,',
] as const

/** Of so many events one is no piece of a stream, and ends the run of those before it. */
const runEvery = 4

/** An event whose payload has about so many bytes. */
export function testEvent(seq: number, sizeBytes: number, random: Seeded): EncodedEvent {
  let text = random.isOneIn(3) ? random.pick(awkward) : ''
  while (text.length < sizeBytes) text += random.next().toString(36)
  const time = 1_000 + seq
  if (seq % runEvery === 0) return encode({ seq, time, type: 'test/event', data: { text } })
  // A storage may keep several of these together.
  return encode({ seq, time, type: 'assistant/chunk', data: { kind: 'text', text }, ignorable: true })
}

/** The event that tells of a recovery. */
export function recoveredEvent(seq: number, record: SessionRecovered): EncodedEvent {
  return encode({ seq, time: 1_000 + seq, type: 'session/recovered', data: { ...record } })
}

export function textOf({ json }: EncodedEvent): string {
  return json
}

function encode(event: AnySessionEvent): EncodedEvent {
  return encodeEvent(event)
}
