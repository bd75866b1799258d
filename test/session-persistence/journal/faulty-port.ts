import type { JournalPort, PortFile } from '@tidemark/session-persistence/journal'
import { systemError } from './memory-port.ts'

/** `short`: a write takes half of what it is given, without an error. */
export type Fault = 'EIO' | 'ENOSPC' | 'EMFILE' | 'EROFS' | 'short'

/** One call, counted from 0, and with `forGood` every later one of the same name; or every call of some names. */
export type FaultPlan =
  | { readonly at: number; readonly fault: Fault; readonly forGood: boolean }
  | { readonly names: readonly string[]; readonly fault: Fault }

/** A port that counts its calls, fails at one of them, and knows what is open. */
export class FaultyPort {
  readonly calls: string[] = []
  openFiles = 0
  private broken: string | undefined

  constructor(
    private readonly port: JournalPort,
    private readonly plan?: FaultPlan,
  ) {}

  /** The port to hand out. */
  get wrapped(): JournalPort {
    const { port } = this
    const call =
      <Args extends unknown[], T>(name: string, work: (...args: Args) => Promise<T>) =>
      async (...args: Args): Promise<T> => {
        this.refuse(name)
        return work(...args)
      }
    return {
      open: async (path, how) => {
        this.refuse(how === 'create' ? 'create' : 'open')
        const file = await port.open(path, how)
        this.openFiles += 1
        return this.wrapFile(file)
      },
      stat: call('stat', (path) => port.stat(path)),
      realpath: call('realpath', (path) => port.realpath(path)),
      readdir: call('readdir', (path) => port.readdir(path)),
      mkdir: call('mkdir', (path) => port.mkdir(path)),
      rmdir: call('rmdir', (path) => port.rmdir(path)),
      rename: call('rename', (from, to) => port.rename(from, to)),
      link: call('link', (from, to) => port.link(from, to)),
      unlink: call('unlink', (path) => port.unlink(path)),
      chmod: call('chmod', (path, mode) => port.chmod(path, mode)),
      syncFolder: call('syncFolder', (path) => port.syncFolder(path)),
      now: () => port.now(),
      random: (sizeBytes) => port.random(sizeBytes),
      pause: async () => undefined,
      later: (delayMs, work) => port.later(delayMs, work),
      networkFs: call('networkFs', (path) => port.networkFs(path)),
      identity: () => port.identity(),
      hasModes: port.hasModes,
      ...(port.owner !== undefined && { owner: port.owner }),
    }
  }

  private wrapFile(file: PortFile): PortFile {
    return {
      read: async (into, offset) => {
        this.refuse('read')
        return file.read(into, offset)
      },
      write: async (bytes, offset) => {
        const isShort = this.refuse('write')
        return file.write(isShort ? bytes.subarray(0, bytes.length >> 1) : bytes, offset)
      },
      sync: async () => {
        this.refuse('sync')
        return file.sync()
      },
      stat: async () => {
        this.refuse('fstat')
        return file.stat()
      },
      chmod: async (mode) => {
        this.refuse('fchmod')
        return file.chmod(mode)
      },
      close: async () => {
        this.openFiles -= 1
        await file.close() // the descriptor is gone even when close fails
        this.refuse('close')
      },
    }
  }

  /** Counts a call and fails it if it is its turn. True: it shall fall short. */
  private refuse(name: string): boolean {
    const { plan } = this
    this.calls.push(name)
    if (plan === undefined || !this.isTurn(plan, name)) return false
    if (plan.fault === 'short') return name === 'write'
    throw systemError(plan.fault)
  }

  private isTurn(plan: FaultPlan, name: string): boolean {
    if ('names' in plan) return plan.names.includes(name)
    const isTurn = plan.at === this.calls.length - 1
    if (isTurn && plan.forGood) this.broken = name
    return isTurn || this.broken === name
  }
}
