import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { assert } from '@tidemark/session-core'
import { hasReason, type HoldOutcome, type LockAddress, type LockAnswer, type LockPort } from './port.ts'

/** Bytes of a greeting; of a longer one nothing is told. */
export const greetingSizeBytesMax = 1_024

/** How long whoever asks waits to be greeted: a holder that is stopped never does it. */
export const greetingMsMax = 250

/** Callers who wait, and who are greeted at a time: all who wait, and more. Others hear only that it is held. */
const waitingMax = 128
const callersMax = 256

/**
 * Node 20 pads an abstract name with zeros to the full 108 bytes and newer ones do not, so only names of this
 * very length are the same name to both.
 */
const abstractSizeBytes = 108

/** What an address has room for. Node 20 cuts a longer path off without a word. */
const pathSizeBytesMax = { linux: 107, elsewhere: 103 }

const unsupported = { kind: 'unsupported' } as const
type Unsupported = typeof unsupported

export interface SocketLocksOptions {
  readonly platform: NodeJS.Platform
  /** Whether anything stands at a path. @throws what the system refuses. */
  readonly isThere: (path: string) => boolean
  /** Runs work with a short path that leads into a folder, `undefined` where there is none. */
  readonly throughDescriptor: <T>(folder: string, work: (path?: string) => Promise<T>) => Promise<T>
}

/**
 * Names that are held by listening on them: sockets, and named pipes on Windows.
 *
 * 1. What is held does not keep the process alive.
 * 2. Nobody who asks, or is asked, costs the other more time or memory than the bounds above.
 */
export class SocketLocks implements LockPort {
  constructor(private readonly options: SocketLocksOptions) {}

  /** @throws what the system refuses, but for a name that is taken, or that it does not let anybody have. */
  hold(address: LockAddress, greeting: string): Promise<HoldOutcome> {
    assert(Buffer.byteLength(greeting) <= greetingSizeBytesMax, 'a greeting is short')
    return this.at(address, (path) => holdAt(path, greeting))
  }

  /** @throws what this process is short of: it cannot tell then. */
  async ask(address: LockAddress): Promise<LockAnswer> {
    try {
      // Most holders are gone, and so is their name.
      return this.isGone(address) ? { kind: 'free' } : await this.at(address, askAt)
    } catch (error) {
      return answerOf(error)
    }
  }

  private isGone(address: LockAddress): boolean {
    const { platform, isThere } = this.options
    return address.kind === 'folder' && platform !== 'win32' && !isThere(join(address.path, address.name))
  }

  /** Runs work with what the system knows an address by. */
  private async at<T>(address: LockAddress, work: (path: string) => Promise<T>): Promise<T | Unsupported> {
    const { platform, throughDescriptor } = this.options
    const { kind, name } = address
    assert(/^[0-9a-z-]{1,96}$/.test(name), 'the name of a lock is plain')
    if (platform === 'win32') return work(`\\\\.\\pipe\\tidemark-${name}`)
    const isLinux = platform === 'linux'
    if (kind === 'machine')
      return isLinux ? work(`\0tidemark-${name}`.padEnd(abstractSizeBytes, '.')) : unsupported
    const path = join(address.path, name)
    if (Buffer.byteLength(path) <= pathSizeBytesMax[isLinux ? 'linux' : 'elsewhere']) return work(path)
    if (!isLinux) return unsupported
    return throughDescriptor(address.path, async (short) => (short ? work(join(short, name)) : unsupported))
  }
}

async function holdAt(path: string, greeting: string): Promise<HoldOutcome> {
  const server = createServer({ pauseOnConnect: true }, (caller) => greet(caller, greeting))
  server.maxConnections = callersMax
  server.unref()
  // A name that is not exclusive is shared by all workers of a cluster.
  server.listen({ path, exclusive: true, backlog: waitingMax })
  try {
    await once(server, 'listening')
  } catch (error) {
    if (hasReason(error, 'EADDRINUSE')) return { kind: 'taken' }
    // A file system without sockets, or a sandbox. (A folder that is gone is EACCES too, and found out elsewhere.)
    if (hasReason(error, 'EACCES', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EAFNOSUPPORT'))
      return unsupported
    throw error
  }
  server.on('error', ignore) // somebody could not be accepted: the name is held all the same
  // The name is free when this returns; callers who are being greeted are not waited for.
  return { kind: 'held', release: async () => void server.close() }
}

function greet(caller: Socket, greeting: string): void {
  caller.unref()
  caller.on('error', ignore)
  // Nothing waits until it was read: the kernel keeps it for the caller.
  caller.end(greeting, () => caller.destroy())
}

/** Rejects with the reason when it is refused. */
function askAt(path: string): Promise<LockAnswer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    let sizeBytes = 0
    let refusal: Error | undefined
    const socket = connect({ path })
    // A turn more, for what came in time while this process itself was busy.
    const timer = setTimeout(() => setImmediate(() => socket.destroy()), greetingMsMax)
    socket.on('error', (error) => (refusal = error))
    socket.on('end', () => socket.destroy())
    socket.on('data', (piece) => {
      pieces.push(piece)
      sizeBytes += piece.length
      if (sizeBytes > greetingSizeBytesMax) socket.destroy()
    })
    socket.on('close', () => {
      clearTimeout(timer)
      if (refusal && sizeBytes === 0) return reject(refusal)
      const isGreeted = sizeBytes > 0 && sizeBytes <= greetingSizeBytesMax
      resolve({ kind: 'held', ...(isGreeted && { greeting: Buffer.concat(pieces).toString() }) })
    })
  })
}

function answerOf(error: unknown): LockAnswer {
  // Nobody listens; or what stands there is no socket, nor leads to one.
  if (hasReason(error, 'ECONNREFUSED', 'ENOENT', 'ENOTDIR', 'ELOOP')) return { kind: 'free' }
  // Somebody listened, and ended before it came to us: who is greeted sends nothing that could be reset.
  if (hasReason(error, 'ECONNRESET')) return { kind: 'free' }
  if (hasReason(error, 'EAFNOSUPPORT')) return unsupported
  // Too many wait for it already, or it belongs to another user.
  if (hasReason(error, 'EAGAIN', 'EACCES', 'EPERM', 'EPROTOTYPE', 'EBUSY', 'ETIMEDOUT'))
    return { kind: 'held' }
  throw error
}

/** What goes wrong with a caller is its own affair. */
function ignore(): void {}
