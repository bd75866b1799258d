import { setTimeout as pause } from 'node:timers/promises'
import type { Context } from 'cordis'
import { startHost, tell, tellRefusal, waitForGo, write, type HostTerms } from './child-host.ts'

/**
 * A host that resumes a session and appends to it, one event at a time. With `roundLength` it lets go after so many
 * and resumes again, as long as it lives. With `isSilent` it holds the session and writes nothing.
 */
export interface WriterTerms extends HostTerms {
  readonly id: string
  readonly who: string
  readonly roundLength?: number
  /** Between rounds it waits up to so long: writers that never wait only fence each other. */
  readonly pauseMsMax?: number
  readonly isForced?: boolean
  readonly isSilent?: boolean
}

const { ctx, terms } = await startHost<WriterTerms>()
await waitForGo()
let count = 0
do {
  try {
    await hold(ctx, terms)
  } catch (error) {
    tellRefusal(error)
  }
  if (terms.pauseMsMax) await pause(Math.random() * terms.pauseMsMax)
} while (terms.roundLength !== undefined)
tell({ told: 'over' })

async function hold(host: Context, { id, who, roundLength, isForced, isSilent }: WriterTerms) {
  const session = await host.sessionPersistence.resume(id, isForced ? { force: true } : {})
  tell({ told: 'resumed', id, length: session.log.length })
  try {
    if (isSilent) return await new Promise(() => setInterval(() => undefined, 1_000))
    for (let written = 0; written < (roundLength ?? Infinity); written++) {
      const label = `${who} ${count++}`
      await write(host, session, [{ label, length: label.length }])
      await pause(1)
    }
  } finally {
    await host.sessions.dispose(session)
  }
}
