import { isEvent, isSessionError, type AnySessionEvent } from '@tidemark/session-core'
import type { Cursor } from '@tidemark/session-persistence'
import type { Followed } from './line.ts'
import { startHost, tell, tellRefusal, waitForGo, type HostTerms } from './child-host.ts'

/** A host that only follows a session, and tells of every batch. */
export interface FollowerTerms extends HostTerms {
  readonly id: string
}

const { ctx, terms } = await startHost<FollowerTerms>()
await waitForGo()
/** Where to go on: after each batch that it was given. */
const cursors: Cursor[] = []
for (;;) {
  try {
    await follow(cursors.at(-1))
  } catch (error) {
    tellRefusal(error)
    if (!isSessionError(error) || error.code !== 'TAIL_MOVED') throw error
    goBack(error.details.intactThrough ?? -1)
  }
}

async function follow(after: Cursor | undefined): Promise<void> {
  const batches = ctx.sessionPersistence.follow(terms.id, { pollMs: 10, ...(after && { after }) })
  for await (const { events, cursor } of batches) {
    cursors.push(cursor)
    tell({ told: 'followed', id: terms.id, events: events.map(toldOf) })
  }
}

/** What was given before anything proved it durable may be gone after a takeover. */
function goBack(intactThrough: number): void {
  while ((cursors.at(-1)?.seq ?? -1) > intactThrough) cursors.pop()
  tell({ told: 'dropped', id: terms.id, after: cursors.at(-1)?.seq ?? -1 })
}

function toldOf(event: AnySessionEvent): Followed {
  const [part] = isEvent(event, 'user/message') ? event.data.parts : []
  return { seq: event.seq, type: event.type, ...(part && 'text' in part && { text: part.text }) }
}
