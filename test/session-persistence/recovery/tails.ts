import type { AnySessionEvent } from '@tidemark/session-core'
import { encodeEvent } from '@tidemark/session-persistence'
import { sealCommit, type Commit } from '../../../packages/session-persistence/src/journal/commit.ts'
import {
  judgeEnd,
  type EndFacts,
  type Tail,
  type WholeEnd,
} from '../../../packages/session-persistence/src/journal/recover.ts'
import { packRuns } from '../../../packages/session-persistence/src/journal/runs.ts'
import { CommitSieve } from '../../../packages/session-persistence/src/journal/tail.ts'
import { encoded, event } from '../batches.ts'

/** The log of these tests ends at seq 4, in epoch 3: the next batch begins at seq 5. */
export const end = { seq: 4, epoch: 3 } as const
export const salt = 'salt'

export const line = (seq: number, data: unknown = { n: seq }): Buffer =>
  Buffer.from(`${encoded(seq, data).json}\n`)

export const lines = (from: number, to: number): Buffer =>
  Buffer.concat(Array.from({ length: to - from + 1 }, (_, index) => line(from + index)))

/** Pieces of a stream with these texts, on one line. */
export const run = (from: number, texts: readonly string[] = ['a', 'b', 'c']): Buffer =>
  Buffer.from(packRuns(texts.map((text, index) => encodeEvent(chunk(from + index, text)))).join(''))

const chunk = (seq: number, text: string): AnySessionEvent =>
  event(seq, { kind: 'text', text }, { type: 'assistant/chunk', ignorable: true })

/** The commit line of a batch from one seq to another. */
export function commit(from: number, to: number, more: Partial<Commit> = {}): Buffer {
  const { epoch } = end
  const whole = { from, to, epoch, batchId: 'a batch', durable: from - 1, digest: '0'.repeat(64), ...more }
  return sealCommit(whole, salt)
}

export const batch = (from: number, to: number): Buffer => join(lines(from, to), commit(from, to))

export const zeros = (sizeBytes: number): Buffer => Buffer.alloc(sizeBytes)

export const join = (...parts: readonly (Uint8Array | string)[]): Buffer =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string)))

/** Bytes with one of them changed. */
export function changed(bytes: Buffer, at: number, to = bytes.at(at)! ^ 1): Buffer {
  const copy = Buffer.from(bytes)
  copy[at < 0 ? bytes.length + at : at] = to
  return copy
}

/** Bytes with zeros from one offset up to another. */
export const holed = (bytes: Buffer, from: number, to = bytes.length): Buffer =>
  Buffer.from(bytes).fill(0, from < 0 ? bytes.length + from : from, Math.min(to, bytes.length))

export function tailOf(bytes: Buffer): Tail {
  const sieve = new CommitSieve({ salt, epoch: end.epoch })
  sieve.push(bytes)
  return { sizeBytes: bytes.length, bytes, commits: sieve.found }
}

export interface Known extends Partial<Omit<EndFacts, 'end' | 'tail'>> {
  readonly end?: Partial<WholeEnd>
}

/** The facts where these bytes follow the last whole batch, and nothing else is known. */
export function facts(bytes: Uint8Array | string, known: Known = {}): EndFacts {
  const tail = tailOf(join(bytes))
  return { proofs: [], seals: new Map(), ...known, end: { ...end, ...known.end }, tail }
}

/** In one word: `clean`, the class of what is torn, or the rule that refuses. */
export function judge(bytes: Uint8Array | string, known?: Known): string {
  const verdict = judgeEnd(facts(bytes, known))
  switch (verdict.kind) {
    case 'clean':
      return verdict.kind
    case 'torn':
      return verdict.class
    case 'refused':
      return verdict.rule
  }
}
