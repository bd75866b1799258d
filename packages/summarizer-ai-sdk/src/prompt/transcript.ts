import type { TranscriptMessage } from '@tidemark/session-core'
import { ends } from './ends.ts'
import { PartRendering, withField, type PartBounds } from './part.ts'
import { quote } from './quote.ts'

/**
 * The messages as JSON Lines of at most so many UTF-8 bytes. Where they do not fit, long texts lose their middle;
 * where they still do not fit, messages in the middle are left out, and a line says how many.
 */
export function renderTranscript(messages: readonly TranscriptMessage[], sizeBytesMax: number): string {
  const whole = render(messages, sizeBytesMax, unshared(sizeBytesMax))
  return whole.isWhole ? whole.text : render(messages, sizeBytesMax, shared(sizeBytesMax)).text
}

function unshared(sizeBytesMax: number): PartBounds {
  return {
    messageSizeBytesMax: sizeBytesMax,
    resultSizeBytesMax: sizeBytesMax,
    textSizeBytesMax: sizeBytesMax,
    nameSizeBytesMax: sizeBytesMax,
  }
}

/** Shares by which the first and the last of every list fit, whatever they hold, from 16 KiB on. */
function shared(sizeBytesMax: number): PartBounds {
  const share = (divisor: number) => Math.floor(sizeBytesMax / divisor)
  return {
    messageSizeBytesMax: share(4),
    resultSizeBytesMax: share(12),
    textSizeBytesMax: share(32),
    nameSizeBytesMax: share(128),
  }
}

function render(messages: readonly TranscriptMessage[], sizeBytesMax: number, bounds: PartBounds) {
  const rendering = new PartRendering(bounds)
  const mark = (leftOut: number) => quote({ leftOutMessages: leftOut })
  const { items, leftOut } = ends(messages, { sizeBytesMax, mark }, (message, index) => {
    const interrupted = message.role === 'assistant' && message.interrupted
    const fields = quote({ message: index + 1, role: message.role, ...(interrupted && { interrupted }) })
    return withField(fields, 'parts', rendering.messageParts(message.parts))
  })
  return { text: items.join('\n'), isWhole: leftOut === 0 && rendering.isWhole }
}
