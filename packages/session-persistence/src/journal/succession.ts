import { assert, type AnySessionEvent, type SessionRecovered } from '@tidemark/session-core'
import type { LogBatch } from './chain-reader.ts'
import type { Link } from './chain.ts'
import type { Carried, Predecessor } from './header.ts'
import type { LogEnd } from './log-reader.ts'

/** What a new epoch goes on from. */
export interface Succession {
  readonly predecessor: Predecessor | undefined
  /** A whole batch that nothing proves durable: it is written again, with the same bytes. */
  readonly batch?: LogBatch
  readonly carried?: Carried
  readonly durableSeq: number
}

/**
 * Where the next epoch seals the log: at what is proven durable, never beyond. What is whole and not proven may
 * stand in the page cache only, perhaps after a sync that failed, so it cannot be sealed; it is carried over.
 */
export function decideSuccession({ chain, durable, last, ...end }: LogEnd): Succession {
  const newest = chain.links.at(-1)
  assert(newest, 'a chain has a newest segment')
  const isProven = durable.seq >= end.tail.seq
  const isOpen =
    last !== undefined && last.segment === newest.name && last.start.offset === newest.start.offset
  if (isProven) {
    // A first batch without events that nothing followed: its segment may be lost in a power cut.
    const isUnproven = isOpen && last.events.length === 0 && newest.header.predecessor !== undefined
    const hasHead = chain.heads.some(({ epoch }) => epoch === newest.header.epoch)
    const predecessor = isUnproven && !hasHead ? newest.header.predecessor : sealAt(newest, end)
    return { predecessor, durableSeq: end.tail.seq }
  }
  assert(last && last.segment === newest.name, 'what is not proven is the last batch')
  // It was written after everything before it was synced and looked at.
  const predecessor = isOpen ? newest.header.predecessor : sealAt(newest, last.start)
  const { epoch, writer } = last
  const carried = { to: end.tail.seq, epoch, writer }
  return { predecessor, batch: last, carried, durableSeq: last.start.tail.seq }
}

/** Records of recoveries that no event of the log tells. Only the newest segment can name them, or hold the events. */
export function outstanding(newest: Link, told: ReadonlySet<string>): readonly SessionRecovered[] {
  return (newest.header.recovered ?? []).filter((record) => !told.has(nameOf(record)))
}

/** The names of the recoveries that these events tell of. */
export function toldIn(events: readonly AnySessionEvent[]): ReadonlySet<string> {
  const told = events.filter(({ type }) => type === 'session/recovered')
  return new Set(told.map(({ data }) => nameOf(data as SessionRecovered)))
}

/** The same for the same bytes at the same place, and for no others. */
export function nameOf({
  segment,
  offset,
  digest,
}: Pick<SessionRecovered, 'segment' | 'offset' | 'digest'>): string {
  return `${segment} ${offset} ${digest}`
}

function sealAt({ name }: Link, { offset, tail }: Pick<LogEnd, 'offset' | 'tail'>): Predecessor {
  return { segment: name, bytes: offset, seq: tail.seq, digest: tail.digest }
}
