import { reasonOf, type Handle } from '@tidemark/session-continuity'
import type { SimulatedDisk } from '@tidemark/session-persistence/testkit'
import { expect } from 'vitest'
import { openOn, processOn, signedIn } from './simulated.ts'
import type { Continuity } from './source.ts'
import { credential } from './world.ts'

export const labels = ['public', 'internal', 'confidential', 'secret']

export interface Reached {
  readonly generation: number
  readonly sensitivity: string
}

export const rank = ({ generation, sensitivity }: Reached): number =>
  generation * 10 + labels.indexOf(sensitivity)

export interface Act {
  /** What was there before, and was acknowledged. */
  readonly before: (continuity: Continuity) => Promise<Handle | undefined>
  readonly act: (continuity: Continuity, handle: Handle | undefined) => Promise<Handle | undefined>
  /** How a resume may be refused after a crash: then a recover must work, or a begin where nothing was begun. */
  readonly refusals: readonly string[]
  readonly damage?: (disk: SimulatedDisk) => Promise<void>
}

const started = async (continuity: Continuity): Promise<Handle> => {
  const handle = await continuity.open({ mode: 'begin', credential: old, scope: 's' })
  await handle.raise('internal')
  return handle
}

export const old = credential('alice', { authenticatedAt: 1_000 })
const fresh = credential('alice', { authenticatedAt: 1_764_000_000_000 })

export const acts: Readonly<Record<string, Act>> = {
  begin: {
    before: async () => undefined,
    act: (continuity) => continuity.open({ mode: 'begin', credential: old, scope: 's' }),
    refusals: ['unknown-scope', 'no-witness'],
  },
  resume: {
    before: async (continuity) => {
      await (await started(continuity)).close()
      return undefined
    },
    act: (continuity) => continuity.open({ mode: 'resume', credential: fresh, scope: 's' }),
    refusals: [],
  },
  raise: {
    before: started,
    act: async (_, handle) => {
      await handle!.raise('secret')
      return handle
    },
    refusals: [],
  },
  audit: {
    before: started,
    act: async (_, handle) => {
      await handle!.audit({ action: 'deploy', detail: { target: 'production' } })
      return handle
    },
    refusals: [],
  },
  refresh: {
    before: started,
    act: (_, handle) => handle!.refresh({ credential: fresh }),
    refusals: [],
  },
  reset: {
    before: started,
    act: (_, handle) => handle!.reset({ reason: 'a new project' }),
    refusals: [],
  },
  close: {
    before: started,
    act: async (_, handle) => {
      await handle!.close()
      return handle
    },
    refusals: [],
  },
  recover: {
    before: async (continuity) => {
      await (await started(continuity)).close()
      return undefined
    },
    damage: async (disk) => {
      const states = [...disk.files().keys()].filter((path) => path.includes('/state-'))
      for (const path of states) await disk.unlink(path)
      await disk.syncFolder(states[0]!.slice(0, states[0]!.lastIndexOf('/')))
    },
    act: (continuity) => continuity.recover('s', { credential: fresh, reason: 'lost' }),
    refusals: ['lost-state'],
  },
}

/** How a process that starts after the crash gets in. */
export async function getIn(disk: SimulatedDisk, refusals: readonly string[]): Promise<Handle> {
  try {
    return await openOn(disk, 'resume')
  } catch (error) {
    const reason = reasonOf(error)
    if (reason === undefined) throw error
    expect(refusals).toContain(reason)
    if (reason === 'unknown-scope') return openOn(disk, 'begin')
    return processOn(disk).recover('s', { credential: signedIn(disk), reason: 'crashed' })
  }
}
