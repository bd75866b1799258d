import { boundaryType } from './boundary.ts'
import type { OpenBracket } from './bracket.ts'
import { defineProjection, type Bracket, type Projection } from './definition.ts'
import type { SessionHeader } from './event.ts'
import type { Folds } from './folds.ts'
import { readOnly, type EventLog, type SessionLog } from './log.ts'
import { messagesOf } from './transcript/render.ts'
import type { TranscriptMessage } from './transcript/message.ts'
import { transcript } from './transcript/transcript.ts'

/** The seq of the last boundary. */
const lastBoundary = defineProjection<number | undefined>({
  name: 'boundary',
  version: 1,
  init: () => undefined,
  apply: (state, event) => (event.type === boundaryType ? event.seq : state),
})

/** A session as something to read: a stored one, or a live one's read side. Reading writes nothing. */
export class SessionView {
  readonly log: SessionLog

  constructor(
    readonly header: SessionHeader,
    protected readonly events: EventLog,
    protected readonly folds: Folds,
  ) {
    this.log = readOnly(events)
  }

  get id(): string {
    return this.header.id
  }

  /** What came before it was inherited; `undefined` in a session that has no boundary. */
  get boundarySeq(): number | undefined {
    return this.read(lastBoundary)
  }

  /** The state of a projection over the whole log. Folds only what was appended since it was last read. */
  read<State>(projection: Projection<State>): State {
    return this.folds.read(projection)
  }

  /** What is open of a bracket, orphaned ones first, and whether it is live. Costs what is open, not what was. */
  open(bracket: Bracket): readonly OpenBracket[] {
    return this.folds.open(bracket)
  }

  /** What the model sees. */
  messages(): readonly TranscriptMessage[] {
    return messagesOf(this.read(transcript))
  }
}
