import { SessionError, isSessionError, type Session, type Sessions } from '@tidemark/session-core'
import type { SessionSource, SessionView } from '@tidemark/session-core'
import type { Labels } from './label.ts'
import { labelRaisedSchema, labelRaisedType, raisedLabels, type LabelRaised } from './label-raised.ts'
import { reasonOf, refusal } from './refusal.ts'
import type { Rules } from './rules.ts'
import type { HandleBook } from './terms.ts'
import type { Handle } from './handle.ts'
import type { SessionOpenings } from './session-openings.ts'

export interface SessionLabelsParts {
  readonly labels: Labels
  readonly handles: HandleBook
  readonly openings: SessionOpenings
  readonly rules: Rules
  readonly report: (error: unknown) => void
}

/**
 * The labels of sessions, in their logs.
 *
 * 1. A session begins with the highest of what it inherits, the current label of what it was made of, and that of the
 *    open handles of its principal and scope.
 * 2. While it lives it follows those handles, but for one of a generation before its own.
 * 3. Where a source's label cannot be told, it is the highest there is.
 */
export class SessionLabels {
  private living: Iterable<Session> = []
  /** Those that did not take a label. */
  private readonly ended = new WeakSet<Session>()

  constructor(private readonly parts: SessionLabelsParts) {}

  /** Until the returned function is called, every session that these make begins with its label. */
  join(sessions: Sessions): () => void {
    const undo = sessions.define({
      owner: '@tidemark/session-continuity',
      events: {
        [labelRaisedType]: {
          schema: labelRaisedSchema(this.parts.labels.names),
          ids: ['label'], // no redaction may change it
          begins: (heir, source) => this.beginningOf(heir, source),
          accompanies: true,
        },
      },
      projections: [raisedLabels],
    })
    this.living = sessions
    this.parts.openings.join(sessions)
    return () => {
      this.living = []
      undo()
    }
  }

  /**
   * The label that a session has reached; of one that was never raised, the floor.
   * @throws SessionError `UNSUPPORTED_FORMAT` (`unknown-label`); `PROJECTION_FAILED`; `NOT_LOADED`.
   */
  labelOf(view: SessionView): string {
    const { labels } = this.parts
    if (view.isPart) throw new SessionError('NOT_LOADED', `${view.id}: its label may stand after this part`)
    // A log that never used the type need not be in memory to be known.
    const raised = view.log.types.has(labelRaisedType) ? view.read(raisedLabels) : []
    return labels.highest(labels.floor, ...raised)
  }

  /** Raises the living sessions of a handle to its label. One that does not take it takes nothing any more. */
  follow(handle: Handle): void {
    const { labels, rules, report } = this.parts
    for (const session of this.living) {
      if (!this.isUnder(session, handle)) continue
      const own = this.findLabel(session)
      const label = rules.labelToRaise({ own, others: [handle.sensitivity], labels })
      if (label === undefined) continue
      try {
        session.append(labelRaisedType, { label })
      } catch (error) {
        if (isSessionError(error) && error.code === 'DISPOSED') continue // nothing of it is written any more
        session.end()
        this.ended.add(session)
        report(error)
      }
    }
  }

  /**
   * That the label of a handle stands in the log of a living session, which is about to be written as that handle.
   * @throws SessionError `STORAGE_FAILED` (`unavailable`): what the session holds would be stored below its label.
   */
  requireBorne(sessionId: string, handle: Handle): void {
    const { labels, rules, openings } = this.parts
    const session = openings.find(sessionId)
    const own = session && this.findLabel(session)
    // What cannot be told counts as the highest.
    if (own === undefined) return
    if (rules.labelToRaise({ own, others: [handle.sensitivity], labels }) === undefined) return
    throw refusal('unavailable', `${sessionId}: did not take its label; nothing was written`)
  }

  /** The living sessions that a handle's label stands in, and that outlive the process. */
  bearersOf(handle: Handle): readonly Session[] {
    return [...this.living].filter(
      (session) => session.kind === 'stored' && !this.ended.has(session) && this.isUnder(session, handle),
    )
  }

  private beginningOf(heir: SessionView, source: SessionSource): LabelRaised | undefined {
    this.parts.openings.begun(heir)
    const { labels, rules } = this.parts
    const others = [...this.ofSource(heir, source), ...this.ofHandles(heir)]
    const label = rules.labelToRaise({ own: this.findTold(heir), others, labels })
    return label === undefined ? undefined : { label }
  }

  private ofSource(heir: SessionView, source: SessionSource): readonly string[] {
    // A session that goes on holds what it was raised to.
    if (source === undefined || (source !== 'unreadable' && source.id === heir.id)) return []
    const label = source === 'unreadable' ? undefined : this.findLabel(source)
    return [label ?? this.parts.labels.top]
  }

  private ofHandles(heir: SessionView): readonly string[] {
    const { handles } = this.parts
    return [...handles].filter((handle) => this.isUnder(heir, handle)).map((each) => each.sensitivity)
  }

  /** Of the handle's principal and scope, and not of a later generation: what is over there raises nothing here. */
  private isUnder(session: SessionView, handle: Handle): boolean {
    const { rules, openings } = this.parts
    return rules.isHeaderOf(session.header, handle) && !openings.isAfter(session, handle)
  }

  /** `undefined` where it cannot be told, or compared. */
  private findLabel(view: SessionView): string | undefined {
    try {
      return this.findTold(view)
    } catch (error) {
      if (reasonOf(error) !== 'unknown-label') throw error
      return undefined
    }
  }

  /**
   * `undefined` where it cannot be told.
   * @throws SessionError `UNSUPPORTED_FORMAT` (`unknown-label`): no session is made that nobody can compare.
   */
  private findTold(view: SessionView): string | undefined {
    try {
      return this.labelOf(view)
    } catch (error) {
      if (isSessionError(error) && ['PROJECTION_FAILED', 'NOT_LOADED'].includes(error.code)) return undefined
      throw error
    }
  }
}

export interface LabelToRaise {
  /** `undefined` where it cannot be told: then what is raised to stands in the log at least. */
  readonly own: string | undefined
  readonly others: readonly string[]
  readonly labels: Labels
}

/** What a session has to be raised to so that it is not below the others; `undefined` where it is not. */
export function labelToRaise({ own, others, labels }: LabelToRaise): string | undefined {
  const wanted = labels.highest(labels.floor, ...others)
  return labels.isBelow(own ?? labels.floor, wanted) ? wanted : undefined
}
