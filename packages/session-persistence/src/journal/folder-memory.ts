import type { Chain } from './chain.ts'
import type { BlockTexts } from './block-texts.ts'
import { parseHeader, type ParsedHeader } from './header.ts'
import type { BrokenPack, Pack } from './pack-file.ts'

/** Headers that are remembered at the same time. */
const headersMax = 16

/** The first batch of a segment that was found whole. */
export interface FirstBatch {
  /** Of the segment's file. */
  readonly identity: string
  /** The segment's own: an identity may be used again. */
  readonly salt: string
  /** Where it ends. */
  readonly offset: number
  readonly digest: string
}

/** What is known of a session's folder: what was sealed in it is sealed still, and what is packed does not change. */
export class FolderMemory {
  /** As it was found last. */
  chain: Chain | undefined
  /** By name, since the folder was last listed. */
  readonly packs = new Map<string, Pack>()
  readonly broken = new Map<string, BrokenPack>()
  /** Of the newest segment: what was begun is begun still. */
  firstBatch: FirstBatch | undefined
  /** By line: the steps of one operation read the same ones. */
  private readonly headers = new Map<string, ParsedHeader>()

  /** `texts`: shared with other folders, since they are large. Absent: none are kept. */
  constructor(readonly texts?: BlockTexts) {}

  /** As `parseHeader`. */
  parseHeader(line: string): ParsedHeader {
    const known = this.headers.get(line)
    if (known) return known
    const parsed = parseHeader(line)
    if (this.headers.size >= headersMax) this.headers.clear()
    this.headers.set(line, parsed)
    return parsed
  }

  /** For who reads everything, and for who keeps a folder for long. */
  forget(): void {
    this.chain = undefined
    this.firstBatch = undefined
    this.packs.clear()
    this.broken.clear()
    this.headers.clear()
    this.texts?.clear()
  }
}
