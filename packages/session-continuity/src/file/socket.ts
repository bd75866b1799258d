import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { assert } from '@tidemark/session-core'
import { hasReason, type Hold, type LockPort } from './port.ts'

/** What an address has room for. Node 20 cuts a longer path off without a word. */
const pathSizeBytesMax = { linux: 107, elsewhere: 103 }

/** A caller that is neither let in nor refused for so long is taken for one that found somebody. */
const answerMsMax = 2_000

export interface SocketLocksOptions {
  readonly platform: NodeJS.Platform
  /** Runs work with a short path that leads into a folder. */
  readonly throughDescriptor: <T>(folder: string, work: (path: string) => Promise<T>) => Promise<T>
  readonly removeSocket: (path: string) => Promise<void>
}

/**
 * Names that are held by listening on them: sockets in a folder, and named pipes on Windows. A dead holder's name is
 * left, and refuses whoever calls.
 */
export class SocketLocks implements LockPort {
  constructor(private readonly options: SocketLocksOptions) {}

  /** Does not keep the process alive. A name is used once: what is left of a dead holder stays taken. */
  hold(folder: string, name: string): Promise<Hold> {
    return this.at(folder, name, async (address) => {
      if (address === undefined) return { kind: 'unsupported' }
      const server = createServer((caller) => {
        caller.on('error', ignore)
        caller.destroy()
      })
      server.unref()
      server.listen({ path: address, exclusive: true, readableAll: false, writableAll: false })
      try {
        await once(server, 'listening')
      } catch (error) {
        if (hasReason(error, 'EADDRINUSE')) return { kind: 'taken' }
        if (hasReason(error, 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EAFNOSUPPORT', 'EPERM'))
          return { kind: 'unsupported' }
        throw error
      }
      server.on('error', ignore) // somebody could not be let in: the name is held all the same
      const release = async (): Promise<void> => {
        await new Promise<void>((resolve) => server.close(() => resolve()))
        if (this.options.platform !== 'win32') await this.options.removeSocket(join(folder, name))
      }
      return { kind: 'held', release }
    })
  }

  /** @throws what this process is short of: it cannot tell then. */
  async isHeld(folder: string, name: string): Promise<boolean> {
    try {
      return await this.at(folder, name, async (address) => address !== undefined && isAnswered(address))
    } catch (error) {
      // Nobody listens; or what stands there is no socket, nor leads to one.
      if (hasReason(error, 'ECONNREFUSED', 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENOTSOCK')) return false
      // Too many wait for it already, or it belongs to another user.
      if (hasReason(error, 'EAGAIN', 'EACCES', 'EPERM', 'EBUSY', 'ETIMEDOUT', 'ECONNRESET')) return true
      throw error
    }
  }

  private async at<T>(
    folder: string,
    name: string,
    work: (address: string | undefined) => Promise<T>,
  ): Promise<T> {
    assert(/^[0-9a-z-]{1,96}$/.test(name), 'the name of a lock is plain')
    const { platform, throughDescriptor } = this.options
    if (platform === 'win32') return work(`\\\\.\\pipe\\tidemark-${name}`)
    const path = join(folder, name)
    const isLinux = platform === 'linux'
    if (Buffer.byteLength(path) <= pathSizeBytesMax[isLinux ? 'linux' : 'elsewhere']) return work(path)
    if (!isLinux) return work(undefined)
    return throughDescriptor(folder, (short) => work(join(short, name)))
  }
}

function isAnswered(address: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path: address })
    const timer = setTimeout(() => settle(true), answerMsMax)
    const settle = (isHeld: boolean): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(isHeld)
    }
    socket.on('connect', () => settle(true))
    socket.on('error', (error) => {
      clearTimeout(timer)
      reject(error)
    })
  })
}

/** What goes wrong with a caller is its own affair. */
function ignore(): void {}
