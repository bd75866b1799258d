import type { HandleBook } from './terms.ts'

/**
 * The end of a generation of one policy state, in this process: what the sessions of its handles hold is written, and
 * none is opened any more that would be lost when the next generation comes.
 */
export class GenerationEnd {
  private release: (() => void) | undefined

  constructor(
    private readonly handles: HandleBook,
    private readonly key: string,
  ) {}

  /** Ends the sessions. Whatever can refuse the next generation is looked at before. */
  async begin(): Promise<void> {
    this.release ??= this.handles.hold(this.key)
    const bound = [...this.handles].filter((each) => each.generationOf(this.key) !== undefined)
    await Promise.all(bound.map((each) => each.settle()))
  }

  /** The older handles are over; or nothing came of it, and they are as open as before. */
  over(): void {
    this.release?.()
  }
}
