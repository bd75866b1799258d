/** What a process of the story is asked to do. */
export interface Job {
  readonly life: keyof Reports
  readonly file: string
  /** The folder that the sessions are stored in. */
  readonly root: string
  /** Texts that must be in the transcript. */
  readonly facts: readonly string[]
}

export const sessionId = 'demo'
export const forkId = 'demo-fork'

export interface BracketNote {
  readonly bracket: string
  readonly seq: number
  readonly status: 'live' | 'orphaned'
}

export interface Size {
  readonly messageCount: number
  /** Bytes of the messages as JSON. */
  readonly sizeBytes: number
  /** Of these, those of messages that show pinned facts and nothing else. */
  readonly factsSizeBytes: number
}

/** A: what it knew when it was killed. */
export interface KilledReport {
  readonly incarnation: string
  readonly turnCount: number
  readonly facts: readonly { readonly text: string; readonly seq: number }[]
  readonly leftOutCount: number
  readonly eventCount: number
  readonly transcriptDigest: string
  /** Undefined where there was too little to compact. */
  readonly compactStartSeq: number | undefined
  readonly forkedAtSeq: number
  readonly brackets: readonly BracketNote[]
  readonly forkBrackets: readonly BracketNote[]
}

/** B: what it found, and what its compaction did. */
export interface ResumedReport {
  readonly incarnation: string
  readonly boundarySeqs: readonly number[]
  /** Of all events that were there, the new boundary included. */
  readonly digests: readonly string[]
  readonly brackets: readonly BracketNote[]
  readonly forkBrackets: readonly BracketNote[]
  readonly forkBoundarySeq: number | undefined
  readonly before: Size
  readonly compaction: {
    readonly outcome: string
    readonly from?: number
    readonly through?: number
    readonly code?: string
  }
  readonly after: Size
  readonly unpaired: string | undefined
  readonly missingFacts: readonly string[]
  readonly durableSeq: number
}

/** D: a restart after an orderly end, and two openings that do nothing. */
export interface OrderlyReport {
  readonly incarnation: string
  readonly boundarySeqs: readonly number[]
  readonly lastSeqFound: number
  readonly missingFacts: readonly string[]
  readonly untouched: readonly {
    readonly eventCount: number
    readonly sizeBytes: number
    readonly digest: string
  }[]
}

/** C: the same host with persistence off. */
export interface StatelessReport {
  readonly state: string
  readonly sessionKind: string
  readonly eventCount: number
  readonly transcriptDigest: string
  readonly resumeCode: string
}

export interface Reports {
  readonly killed: KilledReport
  readonly resumed: ResumedReport
  readonly orderly: OrderlyReport
  readonly stateless: StatelessReport
}

/** What a process tells its parent. */
export type Word =
  | {
      readonly kind: 'durable'
      /** As the receipt of the flush said. */
      readonly durableSeq: number
      /** Of the events that became durable with it, in order. */
      readonly digests: readonly string[]
    }
  | { readonly kind: 'report'; readonly report: Reports[keyof Reports] }
  | { readonly kind: 'failed'; readonly reason: string }
