import { agrees, areRemains, type Place } from './remains.ts'
import { batchSizeBytesMax, headerSizeBytesMax } from './size.ts'

/**
 * What says that a seq was on stable storage: for all but a receipt, the writer of one epoch. A head names the
 * segment that it is of, by its rotation.
 */
export type Proof =
  | { readonly source: 'head'; readonly epoch: number; readonly rotation?: number; readonly seq: number }
  | { readonly source: 'commit' | 'snapshot'; readonly epoch: number; readonly seq: number }
  | { readonly source: 'receipt'; readonly seq: number }

/** Where the whole batches of a log end. */
export interface WholeEnd {
  /** The last seq, G. */
  readonly seq: number
  /** Of the newest segment, as is its rotation: 0 where it is not said. */
  readonly epoch: number
  readonly rotation?: number
  /** Set while no batch of that segment is whole: the last seq that its first batch was to have. */
  readonly firstTo?: number
  /** The first seq of the last whole batch, where it was read. */
  readonly lastFrom?: number
}

/** The bytes after that end, T. */
export interface Tail {
  readonly sizeBytes: number
  /** All of them, where they are no more than one batch can be; otherwise the first of them. */
  readonly bytes: Uint8Array
  readonly commits: FoundCommits
}

/** What the commit lines in those bytes say, wherever they stand, that prove themselves. */
export interface FoundCommits {
  readonly count: number
  readonly durableMax: number
  /** The lowest `from`. */
  readonly fromMin: number
  readonly toMax: number
  /** The highest `to` of one that anything but zeros follows; absent when there is none. */
  readonly followedTo?: number
  readonly hasOtherEpoch: boolean
}

export interface EndFacts {
  readonly end: WholeEnd
  readonly tail: Tail
  readonly proofs: readonly Proof[]
  /** The seq at which each sealed epoch of the chain was sealed. */
  readonly seals: ReadonlyMap<number, number>
  /** What a strict head of the newest epoch says: exactly what its writer acknowledged. */
  readonly strictSeq?: number
}

export type TornClass = 'hole' | 'unterminated' | 'uncommitted' | 'strict-head'

/** What is proven durable, and by what. */
export interface Durable {
  readonly seq: number
  readonly by: Proof['source'] | 'nothing'
}

export type EndVerdict =
  | { readonly kind: 'clean'; readonly durable: Durable }
  | { readonly kind: 'torn'; readonly class: TornClass; readonly durable: Durable }
  | {
      readonly kind: 'refused'
      readonly rule: 'R3' | 'R4' | 'R5' | 'R7'
      readonly reason: string
      readonly durable: Durable
    }

/**
 * The recovery rule, from R3 on: whether what follows the whole batches of a log is the end of an unacknowledged
 * write, which a crash can leave, or damage, which it cannot. Decides nothing that the bytes do not prove.
 */
export function judgeEnd(facts: EndFacts): EndVerdict {
  const { end, tail, strictSeq } = facts
  const durable = provenBy(facts)
  const refused = (rule: 'R3' | 'R4' | 'R5' | 'R7', reason: string): EndVerdict => ({
    kind: 'refused',
    rule,
    reason,
    durable,
  })
  if (durable.seq > end.seq) {
    const state = tail.sizeBytes === 0 ? 'missing' : 'damaged'
    return refused('R3', `is ${state}: seq ${durable.seq} was durable, says a ${durable.by}`)
  }
  if (isPassed(facts))
    return refused('R3', 'is not the newest: a later segment was begun, and is missing or damaged')
  if (wasBegun(facts)) return refused('R3', 'follows a header whose first batch was durable, and is damaged')
  if (tail.sizeBytes === 0) return { kind: 'clean', durable }
  if (tail.sizeBytes > batchSizeBytesMax) return refused('R4', 'is larger than any batch')
  if (isMisplaced(facts)) return refused('R5', 'is a batch in a wrong place: two writers, or a foreign hand')
  const torn = tornClass(end, tail.bytes)
  if (torn) return { kind: 'torn', class: torn, durable }
  if (strictSeq === end.seq) return { kind: 'torn', class: 'strict-head', durable }
  return refused('R7', 'is neither a batch nor the beginning of one')
}

/** The highest seq that anything proves durable, D. A batch is durable as a whole, so within the last it is its end. */
export function provenBy(facts: EndFacts): Durable {
  const { seq: endSeq, lastFrom = endSeq } = facts.end
  const { seq, by } = highestOf(facts)
  return { seq: seq >= lastFrom ? Math.max(seq, endSeq) : seq, by }
}

function highestOf(facts: EndFacts): Durable {
  const { end, tail, seals } = facts
  const { durableMax, followedTo = -1 } = tail.commits
  // A batch is written once the one before it was synced.
  const found: Proof = { source: 'commit', epoch: end.epoch, seq: Math.max(durableMax, followedTo) }
  return [...proofsOf(facts), found].reduce<Durable>(
    (best, proof) => {
      const seq = countOf(proof, end.epoch, seals)
      return seq > best.seq ? { seq, by: proof.source } : best
    },
    { seq: -1, by: 'nothing' },
  )
}

/** A strict head is a head. */
function proofsOf({ end: { epoch, rotation }, proofs, strictSeq }: EndFacts): readonly Proof[] {
  if (strictSeq === undefined) return proofs
  return [...proofs, { source: 'head', epoch, ...(rotation && { rotation }), seq: strictSeq }]
}

/** How far a proof counts: a sealed epoch's up to its seal, and an earlier one's beside the chain not at all. */
function countOf(proof: Proof, newest: number, seals: ReadonlyMap<number, number>): number {
  const epoch = epochOf(proof, newest)
  return epoch >= newest ? proof.seq : Math.min(proof.seq, seals.get(epoch) ?? -1)
}

/** A receipt speaks for the log, whoever wrote it. */
function epochOf(proof: Proof, newest: number): number {
  return proof.source === 'receipt' ? newest : proof.epoch
}

/** A segment proves nothing before its first batch is durable: from then on the log goes on in it. */
function isPassed({ end, proofs }: EndFacts): boolean {
  return proofs.some(
    (proof) => epochOf(proof, end.epoch) > end.epoch || (rotationsBeyond(end, proof) ?? 0) > 0,
  )
}

/** How many rotations beyond this segment a head of its epoch is of; negative before it. */
function rotationsBeyond({ epoch, rotation = 0 }: WholeEnd, proof: Proof): number | undefined {
  if (proof.source !== 'head' || proof.epoch !== epoch) return undefined
  return (proof.rotation ?? 0) - rotation
}

/** A head, a second batch, and what follows a commit, are only written once the first batch was synced. */
function wasBegun(facts: EndFacts): boolean {
  const { firstTo } = facts.end
  const { count, toMax, followedTo } = facts.tail.commits
  if (firstTo === undefined) return false
  if (proofsOf(facts).some((proof) => rotationsBeyond(facts.end, proof) === 0)) return true
  return count > 0 && (toMax !== firstTo || followedTo !== undefined)
}

/** After the whole batches only the next one can stand. */
function isMisplaced({ end, tail: { commits } }: EndFacts): boolean {
  return commits.count > 0 && (commits.fromMin !== end.seq + 1 || commits.hasOtherEpoch)
}

function tornClass({ seq, firstTo }: WholeEnd, bytes: Uint8Array): TornClass | undefined {
  const place = { next: seq + 1, to: firstTo ?? Infinity, commitFrom: (firstTo ?? seq + 1) + 1 }
  if (!areRemains(textOf(bytes).split('\n'), place)) return undefined
  if (bytes.includes(0)) return 'hole'
  return bytes.at(-1) === 10 ? 'uncommitted' : 'unterminated'
}

/** `header`: a whole line, which may or may not prove itself. */
export type HeaderVerdict =
  | { readonly kind: 'header'; readonly line: Uint8Array }
  | { readonly kind: 'void'; readonly reason: string }
  | { readonly kind: 'unfit'; readonly reason: string }

/** What a claim writes before anything else, at most. */
export const startSizeBytesMax = headerSizeBytesMax + batchSizeBytesMax

/** What follows a header that is not known: a first batch, of no one knows which events. */
const anyPlace: Place = { next: 0, isAfterHole: true, to: Infinity, commitFrom: 0 }

/**
 * R8: whether a segment's first line is a header, or what a crash can leave of one. Header and first batch are
 * written and synced together: a claim that was cut short is void.
 *
 * `bytes` is the whole segment, or at least as much of it as a header can be where its first line holds no 0x00.
 */
export function judgeHeader(bytes: Uint8Array, sizeBytes: number, hasHead: boolean): HeaderVerdict {
  const lf = bytes.indexOf(10)
  const line = lf === -1 ? bytes : bytes.subarray(0, lf)
  const hole = line.indexOf(0)
  if (lf !== -1 && hole === -1) return { kind: 'header', line }
  if (hasHead) return { kind: 'unfit', reason: 'has a durable head, and no header' }
  const isShort = hole === -1 ? sizeBytes < headerSizeBytesMax : sizeBytes <= startSizeBytesMax
  const shown = textOf(hole === -1 ? line : line.subarray(0, hole))
  if (!isShort || !agrees(shown, '{"segment":{')) return { kind: 'unfit', reason: 'is no header' }
  if (!areRemains(textOf(bytes).split('\n').slice(1), anyPlace))
    return { kind: 'unfit', reason: 'has no header, and more than a first batch' }
  return { kind: 'void', reason: hole === -1 ? 'was never begun' : 'holds NUL bytes' }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
}
