import { SessionError } from '@tidemark/session-core'
import { digestOf } from './digest.ts'
import type { FactPinned } from './event.ts'
import type { PinnedFact } from './fact.ts'
import { schemas } from './schemas.ts'
import { sizeBytesOf } from './size.ts'

export interface PinInput {
  /** Default: made of the text, so that the same text is pinned once. */
  readonly key?: string
  readonly text: string
  /** The event that the fact was taken from. */
  readonly sourceSeq?: number
  /** Who pins it. Default: the calling plugin, by name. */
  readonly by?: string
}

export interface FactBounds {
  readonly factsSizeBytesMax: number
  readonly factCountMax: number
}

/** What a pin comes to: `known` when the very same fact is in force already, so that a host may pin at each start. */
export type PinDecision = { kind: 'known'; fact: PinnedFact } | { kind: 'new'; data: FactPinned }

/**
 * @throws SessionError `INVALID_EVENT` for a key or text that cannot be rendered as it is, `PINS_TOO_LARGE` when the
 * facts would not fit their bounds; nothing was pinned.
 */
export function decidePin(
  known: readonly PinnedFact[],
  input: PinInput & { readonly by: string },
  bounds: FactBounds,
): PinDecision {
  const data = pinned(input)
  const same = known.find(({ key }) => key === data.key)
  if (same && isSame(same, data)) return { kind: 'known', fact: same }
  refuseTooLarge([...known.filter(({ key }) => key !== data.key), data], bounds)
  return { kind: 'new', data }
}

/** @throws SessionError `PINS_TOO_LARGE`; `details.keys` names the facts. */
export function refuseTooLarge(
  known: readonly FactPinned[],
  { factsSizeBytesMax, factCountMax }: FactBounds,
): void {
  const sizeBytes = known.reduce((sum, { key, text }) => sum + sizeBytesOf(key) + sizeBytesOf(text), 0)
  if (sizeBytes <= factsSizeBytesMax && known.length <= factCountMax) return
  const keys = known.map(({ key }) => key)
  const bounds = `${factCountMax} facts and ${factsSizeBytesMax} bytes`
  throw new SessionError(
    'PINS_TOO_LARGE',
    `${keys.length} facts of ${sizeBytes} bytes, where ${bounds} are allowed`,
    {
      keys: Object.freeze(keys),
      sizeBytes,
    },
  )
}

function pinned({ text, key, sourceSeq, by }: PinInput & { readonly by: string }): FactPinned {
  const isText = typeof text === 'string' && text.trim() !== '' && text.isWellFormed()
  if (!isText)
    throw new SessionError(
      'INVALID_EVENT',
      'a fact is well-formed text that is not blank; nothing was pinned',
    )
  const digest = digestOf(text)
  const data = {
    key: key ?? `fact-${digest.slice(0, 16)}`,
    text,
    digest,
    by,
    ...(sourceSeq !== undefined && { sourceSeq }),
  }
  if (schemas['fact/pinned'].safeParse(data).success) return data
  throw new SessionError(
    'INVALID_EVENT',
    'a fact has a one-line key, a source that is a seq, and who pinned it',
  )
}

function isSame(known: PinnedFact, data: FactPinned): boolean {
  return known.digest === data.digest && known.by === data.by && known.sourceSeq === data.sourceSeq
}
