import type { SessionError } from '@tidemark/session-core'

/** What was told is remembered so far back. */
const countMax = 256

/** Tells the host of each thing once, however often it is met: a file that cannot be used is met with each read. */
export class ToldOnce {
  private readonly known = new Set<string>()

  constructor(private readonly report: (error: SessionError) => void) {}

  tell(error: SessionError): void {
    const { sessionId, segment, reason } = error.details
    const name = JSON.stringify([error.code, sessionId, segment, reason])
    if (this.known.has(name)) return
    this.known.add(name)
    const [oldest] = this.known
    if (this.known.size > countMax && oldest !== undefined) this.known.delete(oldest)
    this.report(error)
  }
}
