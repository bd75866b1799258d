import type { SessionHeader } from '@tidemark/session-core'
import type { Tail } from '../storage.ts'
import { sumAtEnd } from './imprint.ts'
import type { LogActivity } from './log-activity.ts'
import type { Place } from './rotation.ts'
import type { SummaryLine } from './summary-line.ts'

/** What the index holds of a log, as its holder left it. */
export type LeftLog = Omit<SummaryLine, 'folder'>

/** How a log ends of which everything is acknowledged. */
export interface LogStanding {
  readonly session: SessionHeader
  readonly activity: LogActivity
  readonly place: Place
  readonly tail: Tail
  /** The last line. */
  readonly commit: Buffer
}

/** `undefined` where it has to be read. */
export function leftBy({ session, activity, place, tail, commit }: LogStanding): LeftLog | undefined {
  const { own, offset, header } = place
  const found = activity.at(tail.seq)
  const sum = sumAtEnd(commit)
  if (found === undefined || sum === undefined || header) return undefined
  const { name, epoch } = own.name
  const end = { segment: name, sizeBytes: offset, sum, digest: tail.digest }
  return { ...found, ...end, epoch, header: session, lastTime: found.lastTime ?? session.createdAt }
}
