import type { Session } from '@tidemark/session-core'
import { startHost, tell, tellRefusal, waitForGo, write, type HostTerms } from './child-host.ts'
import type { Written } from './line.ts'
import { Random } from './random.ts'

/**
 * A host that goes through the life of one session after the other: create, append, let go, resume, append, fork, let
 * go. Without a seed every life is the same; with one they differ, also in the sizes of what they write.
 */
export interface StoryTerms extends HostTerms {
  /** Told apart from other stories under the same root. */
  readonly name: string
  readonly seed?: number
  /** With a seed: of so many messages one is large. Default: 20. */
  readonly largeIn?: number
  /** Default: as long as it lives. */
  readonly livesMax?: number
}

const { ctx, terms } = await startHost<StoryTerms>()
const random = terms.seed === undefined ? undefined : new Random(terms.seed)
let labels = 0

await waitForGo()
try {
  for (let lives = 0; lives < (terms.livesMax ?? Infinity); lives++) await live(`${terms.name}-${lives}`)
  tell({ told: 'over' })
} catch (error) {
  tellRefusal(error)
}

async function live(id: string): Promise<void> {
  tell({ told: 'beginning', id })
  let session = await ctx.sessionPersistence.create({ id })
  tell({ told: 'begun', id })
  await writeSome(session, 2)
  for (let resumes = random?.below(4) ?? 1; resumes > 0; resumes--) {
    await ctx.sessions.dispose(session)
    session = await ctx.sessionPersistence.resume(id)
    tell({ told: 'resumed', id, length: session.log.length })
    await writeSome(session, 1)
  }
  await branch(session)
  await ctx.sessions.dispose(session)
}

/** A fork that cuts through the batch that was written last. */
async function branch(parent: Session): Promise<void> {
  const id = `${parent.id}-fork`
  const through = Math.max(0, parent.log.length - 2)
  tell({ told: 'beginning', id, parent: { id: parent.id, through } })
  const fork = await ctx.sessionPersistence.fork(parent, { id, through })
  tell({ told: 'begun', id })
  await writeSome(fork, 1)
  await ctx.sessions.dispose(fork)
}

async function writeSome(session: Session, batches: number): Promise<void> {
  for (let left = random ? 1 + random.below(4) : batches; left > 0; left--) {
    await write(ctx, session, nextTexts())
  }
}

function nextTexts(): Omit<Written, 'seq'>[] {
  const count = random ? 1 + random.below(5) : 3
  return Array.from({ length: count }, () => {
    const label = `${terms.name} ${labels++}`
    return { label, length: label.length + (random ? nextLength(random) : 0) }
  })
}

/** Mostly a line or two; now and then more than a disk block, or than the system takes in one go. */
function nextLength(from: Random): number {
  if (from.below(terms.largeIn ?? 20) === 0) return 300_000 + from.below(1_000_000)
  return from.below(from.chance(0.25) ? 20_000 : 200)
}
