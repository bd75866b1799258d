import type { Handle } from '@tidemark/session-continuity'
import type { SimulatedDisk } from '@tidemark/session-persistence/testkit'
import {
  Config,
  Continuity,
  FileStore,
  rules,
  termsOf,
  type ContinuityPort,
  type LockPort,
} from './source.ts'
import { credential, everything, trusting, withLocks } from './world.ts'

/** A process on a simulated disk. A kernel that has just started holds no names. */
export function processOn(disk: SimulatedDisk, isAsleep = (_path: string): boolean => false): Continuity {
  const held = heldOn.get(disk) ?? new Set<string>()
  heldOn.set(disk, held)
  const locks: LockPort = {
    hold: async (folder, name) => {
      held.add(`${folder}/${name}`)
      return { kind: 'held', release: async () => void held.delete(`${folder}/${name}`) }
    },
    isHeld: async (folder, name) => held.has(`${folder}/${name}`),
  }
  const places = { root: '/data/store', witness: '/mark' }
  const port = dozing(withLocks(disk, locks), isAsleep)
  const store = new FileStore({ port, ...places, auditSizeBytesMax: 1_048_576 })
  const settings = Config.parse({
    ...places,
    authenticators: [trusting],
    grants: everything,
    now: () => disk.now(),
  })
  const report = (error: unknown): void => {
    throw error
  }
  const continuity = new Continuity(undefined, termsOf(settings, { store, rules, report }))
  running.set(disk, [...(running.get(disk) ?? []), continuity])
  return continuity
}

/** A port that begins to sync certain folders, and never ends. */
function dozing(port: ContinuityPort, isAsleep: (path: string) => boolean): ContinuityPort {
  return new Proxy(port, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key)
      if (key !== 'syncFolder') return value
      return (path: string) => (isAsleep(path) ? new Promise(() => undefined) : target.syncFolder(path))
    },
  })
}

/** All that run on one disk at a time share a kernel. */
const heldOn = new WeakMap<SimulatedDisk, Set<string>>()

const running = new WeakMap<SimulatedDisk, Continuity[]>()

/** Names that its kernel holds for somebody. */
export function heldCountOn(disk: SimulatedDisk): number {
  return heldOn.get(disk)?.size ?? 0
}

/** Every process on a disk ends cleanly. */
export async function endAll(disk: SimulatedDisk): Promise<void> {
  for (const continuity of running.get(disk) ?? []) await continuity.close()
}

/** Whoever signs in at this moment. */
export function signedIn(disk: SimulatedDisk) {
  return credential('alice', { authenticatedAt: disk.clock.position })
}

export async function openOn(disk: SimulatedDisk, mode: 'begin' | 'resume'): Promise<Handle> {
  return processOn(disk).open({ mode, credential: signedIn(disk), scope: 's' })
}
