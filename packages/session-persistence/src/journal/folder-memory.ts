import type { Chain } from './chain.ts'
import { parseHeader, type ParsedHeader } from './header.ts'
import type { BrokenPack, Pack } from './pack-file.ts'

/** Headers that are remembered at the same time. */
const headersMax = 16

/** What is known of a session's folder: what was sealed in it is sealed still, and what is packed does not change. */
export class FolderMemory {
  /** As it was found last. */
  chain: Chain | undefined
  /** By name, since the folder was last listed. */
  readonly packs = new Map<string, Pack>()
  readonly broken = new Map<string, BrokenPack>()
  /** By line: the steps of one operation read the same ones. */
  private readonly headers = new Map<string, ParsedHeader>()

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
    this.packs.clear()
    this.broken.clear()
    this.headers.clear()
  }
}
