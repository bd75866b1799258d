import { join } from 'node:path'
import { SessionError, assert } from '@tidemark/session-core'
import { z } from 'zod'
import { fitting } from '../fitting.ts'
import { parseJson } from '../json-text.ts'
import type { ProcessIdentity } from '../process.ts'
import type { Writer } from '../storage.ts'
import { listNames } from './listing.ts'
import { lockName, socketEpoch } from './living.ts'
import type { HoldOutcome, JournalPort, LockAddress, LockAnswer, LockPort } from './port.ts'
import type { FolderPlace, SessionFolder } from './segment-file.ts'
import { segmentsIn } from './segment-name.ts'
import { findHeaderIn } from './segment-start.ts'
import { cleanUp } from './writing.ts'

export interface LockTerms {
  /** The store's, so that only who can read the store can tell the name. */
  readonly secret: string
  /** Goes on whoever holds it: the epochs keep that safe. */
  readonly force: boolean
  /** Who wrote last: named when the holder itself says nothing. */
  readonly holder: Writer | undefined
}

/** A segment's writer, and the socket that it listens on. */
export type SegmentHolder = Writer & { readonly socket?: string }

/** A name that was freed whenever its holder was asked is tried so often. */
const holdsMax = 3

const socketMode = 0o600

/**
 * Tells others that a session has a living writer. It is not what keeps writers apart: that is the epoch.
 *
 * 1. What it holds is freed by the kernel when this process dies, and kept while it is stopped.
 * 2. After a refusal, and after `release`, it holds nothing.
 */
export class SessionLock {
  private readonly releases: (() => Promise<void>)[] = []
  private socket: string | undefined
  private released: Promise<void> | undefined

  private constructor(
    private folder: FolderPlace,
    private readonly isForced: boolean,
  ) {}

  /**
   * Takes the name of a session on this machine.
   * @throws SessionError `LOCKED`, with the holder where it is known.
   */
  static async take(folder: FolderPlace, { secret, force, holder }: LockTerms): Promise<SessionLock> {
    const lock = new SessionLock(folder, force)
    const { locks } = folder.port
    if (locks) await lock.takeName(locks, { kind: 'machine', name: await lockName(folder, secret) }, holder)
    return lock
  }

  /**
   * Asks for the socket that the newest segment's header names. It is seen where the machine's names are not:
   * in another container that has the same folder.
   * @throws SessionError `LOCKED`; then everything is released.
   */
  async refuseHolder(holder: SegmentHolder): Promise<void> {
    const { port, path, id } = this.folder
    const name = holder.socket
    // Any other name than ours leads nowhere, least of all out of the folder.
    if (!port.locks || this.isForced || name === undefined || socketEpoch(name) === undefined) return
    try {
      const answer = await port.locks.ask({ kind: 'folder', path, name })
      if (answer.kind === 'held') throw locked(id, answer, holder)
    } catch (error) {
      await this.release()
      throw error
    }
  }

  /** Listens in the session's folder. Returns the socket's name, or `undefined` where there are no sockets. */
  async announce(epoch: number): Promise<string | undefined> {
    const { port, path, id } = this.folder
    assert(!this.socket && !this.released, 'a lock is announced once, before it is released')
    if (!port.locks) return undefined
    const name = `lock-${String(epoch).padStart(6, '0')}-${port.random(8)}`
    switch (await this.hold(port.locks, { kind: 'folder', path, name })) {
      case 'unsupported':
        return undefined
      case 'taken':
        throw new SessionError('STORAGE_FAILED', `${id}: ${name} is there already; nothing was changed`)
      case 'held':
        this.socket = name
        if (port.hasModes) await insistOnMode(port, join(path, name))
        return name
    }
  }

  /** The session's folder has another path from now on; the sockets in it are the same. */
  movedTo(path: string): void {
    this.folder = { ...this.folder, path }
  }

  /** Idempotent. A socket's file that cannot be removed stays: nobody listens on it. */
  release(): Promise<void> {
    return (this.released ??= this.letGo())
  }

  private async letGo(): Promise<void> {
    const { folder, socket, releases } = this
    // The machine's name last: who gets that finds nothing of this lock.
    for (const release of releases.toReversed()) await release()
    if (socket !== undefined) await cleanUp(() => folder.port.unlink(join(folder.path, socket)))
  }

  private async takeName(locks: LockPort, address: LockAddress, holder?: Writer): Promise<void> {
    let answer: LockAnswer = { kind: 'free' }
    for (let holds = 0; holds < holdsMax && answer.kind === 'free'; holds++) {
      if ((await this.hold(locks, address)) !== 'taken' || this.isForced) return
      answer = await locks.ask(address)
    }
    throw locked(this.folder.id, answer, holder)
  }

  private async hold(locks: LockPort, address: LockAddress): Promise<HoldOutcome['kind']> {
    const identity = identityOf(await this.folder.port.identity())
    const outcome = await locks.hold(address, JSON.stringify(identity))
    if (outcome.kind === 'held') this.releases.push(outcome.release)
    return outcome.kind
  }
}

/** The newest header that can be read says who may be the holder. */
export async function findHolder(folder: SessionFolder): Promise<SegmentHolder | undefined> {
  for (const name of segmentsIn(await listNames(folder))) {
    const found = await findHeaderIn(folder, name)
    if (found === undefined) continue
    const { writer, socket } = found.header
    return { ...writer, ...(socket !== undefined && { socket }) }
  }
  return undefined
}

/** The sockets of epochs before this one. Its holder may remove them: theirs are gone, or fenced. */
export function spentLocks(names: readonly string[], epoch: number): string[] {
  return names.filter((name) => (socketEpoch(name) ?? epoch) < epoch)
}

/** The mode that a socket is created with is the umask's. */
async function insistOnMode(port: JournalPort, path: string): Promise<void> {
  await port.chmod(path, socketMode)
  const { mode } = await port.stat(path)
  if (mode === socketMode) return
  throw new SessionError(
    'STORAGE_FAILED',
    `this file system gives a socket mode ${mode.toString(8)} instead of ${socketMode.toString(8)}`,
  )
}

function locked(sessionId: string, answer: LockAnswer, writer: Writer | undefined): SessionError {
  const greeting = answer.kind === 'held' ? answer.greeting : undefined
  const holder = (greeting && holderIn(parseJson(greeting))) || (writer && holderIn(identityOf(writer)))
  const who = holder
    ? `process ${holder.pid} on ${holder.host}, started ${new Date(holder.startedAt).toISOString()},`
    : 'another process'
  const message = `${sessionId}: ${who} has it open; nothing was changed`
  return new SessionError('LOCKED', message, { sessionId, ...(holder && { holder }) })
}

function identityOf({ pid, host, startedAt }: ProcessIdentity): ProcessIdentity {
  return { pid, host, startedAt }
}

/** What a holder says of itself, which anybody may have written. */
function holderIn(said: unknown): ProcessIdentity | undefined {
  return fitting(holderSchema, said)
}

const holderSchema = z.strictObject({
  pid: z.int().min(1),
  host: z.string().regex(/^[^\p{C}]{1,255}$/u), // goes into a message: nothing that a terminal obeys
  startedAt: z.int().min(0).max(8.64e15), // the last moment that a Date can tell
})
