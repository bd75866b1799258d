import type { Recorder, SessionEvent } from '@tidemark/session-core'

/** A writer whose disk is an array, and which keeps a diary of what was asked of it. */
export class FakeRecorder implements Recorder {
  readonly admitted: SessionEvent[] = []
  /** Types that were told to accompany the rest. */
  readonly accompanying: string[] = []
  readonly diary: string[] = []
  durableSeq = -1
  digest: string | undefined
  /** What the next `admit` throws. */
  refuseWith: Error | undefined
  /** What the next `flush` rejects with. */
  failWith: Error | undefined
  /** Holds every flush back until it resolves. */
  held: Promise<void> = Promise.resolve()

  constructor(private readonly note: (what: string) => void = () => undefined) {}

  admit(event: SessionEvent, accompanies = false): void {
    if (this.refuseWith) throw this.refuseWith
    if (accompanies) this.accompanying.push(event.type)
    this.admitted.push(event)
  }

  async flush(): Promise<void> {
    this.write('flush')
    const through = this.admitted.at(-1)?.seq ?? -1
    await this.held
    if (this.failWith) throw this.failWith
    this.durableSeq = through
  }

  async close(): Promise<void> {
    this.write('close')
  }

  private write(what: string): void {
    this.diary.push(what)
    this.note(what)
  }
}
