import type { JournalPort } from './port.ts'

/** Texts that are kept at the same time: of two places that a reader goes between, and their neighbours. */
const countMax = 4

/** How long after one was last asked for, in milliseconds. */
const keptMs = 2_000

/**
 * Blocks of packs that were expanded a moment ago, by the digest of their packed bytes: whoever reads a page of history
 * looks for it in the same blocks, and so does whoever reads the next page.
 */
export class BlockTexts {
  /** Oldest first. */
  private readonly texts = new Map<string, Uint8Array>()
  private dropping: (() => void) | undefined

  constructor(private readonly port: Pick<JournalPort, 'later'>) {}

  find(digest: string): Uint8Array | undefined {
    const text = this.texts.get(digest)
    if (text) this.keep(digest, text)
    return text
  }

  keep(digest: string, text: Uint8Array): void {
    this.texts.delete(digest)
    this.texts.set(digest, text)
    for (const oldest of this.texts.keys()) {
      if (this.texts.size <= countMax) break
      this.texts.delete(oldest)
    }
    this.dropping?.()
    this.dropping = this.port.later(keptMs, () => this.clear())
  }

  clear(): void {
    this.dropping?.()
    this.dropping = undefined
    this.texts.clear()
  }
}
