import type { JsonObject } from '@tidemark/session-core'
import type { Handle } from './handle.ts'
import type { HandleParts } from './handle-parts.ts'
import { reasonOf, refusal } from './refusal.ts'

type EndReason = 'closed' | 'stale-generation'

/** `ending`: what the sessions of the handle hold is still written, and nothing else is done. */
type Phase = { readonly kind: 'open' } | { readonly kind: 'ending' | 'over'; readonly reason: EndReason }

/**
 * How a handle ends.
 *
 * 1. The sessions that were opened as the handle end before it does, written, while it still answers for them.
 * 2. Its incarnation closes cleanly only where all that they held was written: else what was done under it is not all
 *    there, and it stays an orphan.
 */
export class HandleLife {
  private phase: Phase = { kind: 'open' }
  /** What a session failed with that ended with the handle. */
  private lost: Error | undefined
  private isClean = true

  constructor(
    private readonly handle: Handle,
    private readonly parts: Pick<HandleParts, 'incarnation' | 'sessions' | 'onEnd'>,
  ) {}

  get isOpen(): boolean {
    return this.phase.kind === 'open'
  }

  /** @throws SessionError `DISPOSED` (`closed`), `FENCED` (`stale-generation`). */
  requireOpen(): void {
    if (this.phase.kind !== 'open') throw overAs(this.phase.reason)
  }

  /** As `requireOpen`, and lets one pass that is ending. */
  requireLiving(): void {
    if (this.phase.kind === 'over') throw overAs(this.phase.reason)
  }

  /** Nothing is begun any more. */
  beginEnd(reason: EndReason): void {
    if (this.phase.kind === 'open') this.phase = { kind: 'ending', reason }
  }

  /** Ends the sessions that were opened as the handle: written, as far as they can be, and released. */
  async settle(): Promise<void> {
    const lost = await this.parts.sessions.end(this.handle)
    if (lost === undefined) return
    this.lost ??= lost
    this.isClean = false
  }

  /** The end, within a turn of the handle. What a session failed with that could not be written before it. */
  async end(detail: JsonObject): Promise<Error | undefined> {
    if (this.phase.kind === 'over') return undefined
    this.beginEnd('closed')
    await this.settle()
    await this.finish(detail)
    return this.lost
  }

  /** The end after a failure: an orphan. */
  async fail(error: unknown): Promise<void> {
    if (this.phase.kind === 'over') return
    this.beginEnd(reasonOf(error) === 'stale-generation' ? 'stale-generation' : 'closed')
    this.isClean = false
    await this.settle()
    await this.finish({})
  }

  private async finish(detail: JsonObject): Promise<void> {
    const { incarnation, onEnd } = this.parts
    if (this.phase.kind === 'ending') this.phase = { kind: 'over', reason: this.phase.reason }
    try {
      await (this.isClean ? incarnation.close(detail) : incarnation.abandon())
    } finally {
      onEnd(this.handle)
    }
  }
}

function overAs(reason: EndReason): Error {
  return refusal(reason, 'this handle is over; open a new one')
}
