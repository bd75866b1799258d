import type { FileStat, JournalPort, PortFile } from '../../journal/port.ts'
import { Seeded } from '../seeded.ts'
import { SimulatedClock } from './clock.ts'
import { immediateCodec } from './codec.ts'
import { systemError, type DiskCall, type DiskCallName, type DiskFault } from './fault.ts'
import { folderNode, filesOf, rootInode, type DiskImage } from './image.ts'
import { OpenFile } from './open-file.ts'
import type { DiskOperation, Recording } from './recording.ts'
import { DiskTree } from './tree.ts'
import { inWork } from './work.ts'

export interface DiskOptions {
  /** Goes on from there; default: an empty disk. */
  readonly image?: DiskImage
  readonly seed?: number
  /** Keep the state after every operation, for `recording`. */
  readonly isRecorded?: boolean
  /** The process that its users believe to be. */
  readonly pid?: number
}

const startedAt = 1_764_000_000_000

/**
 * A disk in memory that knows what a crash may leave of it.
 *
 * 1. What was not synced may be lost; what was, is not.
 * 2. Each call takes effect at once, and in the order of the calls; a sync only when it resolves.
 * 3. The same calls give the same disk, bit by bit.
 */
export class SimulatedDisk implements JournalPort {
  readonly hasModes = true
  readonly owner = 1_000
  readonly codec = immediateCodec
  readonly clock: SimulatedClock
  /** Asked before each call; what it gives, the call meets. */
  onCall: ((call: DiskCall) => DiskFault | undefined) | undefined
  openFiles = 0
  /** Calls so far. */
  calls = 0
  /** Operations so far that changed the disk, a sync included. */
  changes = 0
  private readonly tree: DiskTree
  private readonly chance: Seeded
  private readonly operations: DiskOperation[] = []
  private readonly images: DiskImage[] = []
  private readonly isRecorded: boolean
  private readonly pid: number

  constructor({ image, seed = 1, isRecorded = false, pid = 4_711 }: DiskOptions = {}) {
    const nodes = image ? new Map(image.nodes) : new Map([[rootInode, folderNode()]])
    this.tree = new DiskTree(nodes, image?.unsynced ?? [], image?.inodeNext ?? rootInode + 1)
    this.clock = new SimulatedClock(image?.now ?? startedAt)
    this.chance = image ? Seeded.resume(image.draws) : Seeded.of(seed, 'disk')
    this.isRecorded = isRecorded
    this.pid = pid
    if (isRecorded) this.images.push(this.image())
  }

  /** The disk as it is. */
  image(): DiskImage {
    const { tree, clock, chance } = this
    return {
      nodes: new Map(tree.nodes),
      unsynced: tree.unsynced,
      inodeNext: tree.inodeNext,
      now: clock.position,
      draws: chance.position,
    }
  }

  get recording(): Recording {
    return { operations: this.operations, images: this.images }
  }

  /** The content of every file, by path. */
  files(): Map<string, Buffer> {
    return filesOf(this.tree)
  }

  /** Lets time pass, and what is due be done. */
  advance(durationMs: number): Promise<void> {
    return this.clock.advance(durationMs)
  }

  /** Resolves once nobody calls any more, unless time passes. */
  async idle(): Promise<void> {
    for (let calls = -1; calls !== this.calls;) {
      calls = this.calls
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  async open(path: string, how: 'read' | 'create'): Promise<PortFile> {
    this.meet(how === 'create' ? 'create' : 'open', path)
    const inode =
      how === 'create' ? this.change('create', path, () => this.tree.add(path, 'file')) : this.tree.find(path)
    return this.handle(path, inode, how === 'create')
  }

  async stat(path: string): Promise<FileStat> {
    this.meet('stat', path)
    return this.statOf(this.tree.find(path))
  }

  async realpath(path: string): Promise<string> {
    this.meet('realpath', path)
    this.tree.find(path)
    return path
  }

  async readdir(path: string): Promise<readonly string[]> {
    this.meet('readdir', path)
    // A folder is in no order, least of all in that of creation.
    return [...this.tree.folder(path).names.keys()].reverse()
  }

  async mkdir(path: string): Promise<void> {
    this.meet('mkdir', path)
    this.change('mkdir', path, () => this.tree.add(path, 'folder'))
  }

  async rmdir(path: string): Promise<void> {
    this.meet('rmdir', path)
    this.change('rmdir', path, () => this.tree.removeFolder(path))
  }

  async rename(from: string, to: string): Promise<void> {
    this.meet('rename', from)
    this.change('rename', from, () => this.tree.rename(from, to))
  }

  async link(from: string, to: string): Promise<void> {
    this.meet('link', to)
    this.change('link', to, () => this.tree.link(from, to))
  }

  async unlink(path: string): Promise<void> {
    this.meet('unlink', path)
    this.change('unlink', path, () => this.tree.unlink(path))
  }

  async chmod(path: string): Promise<void> {
    this.meet('chmod', path)
    this.tree.find(path)
  }

  async syncFolder(path: string): Promise<void> {
    this.meet('syncFolder', path)
    const unsynced = this.tree.unsyncedIn(path)
    await inWork()
    this.change('syncFolder', path, () => this.tree.syncNames(unsynced))
  }

  now(): number {
    return this.clock.now()
  }

  random(sizeBytes: number): string {
    return this.chance.hex(sizeBytes)
  }

  async pause(durationMs: number): Promise<void> {
    this.clock.skip(durationMs)
  }

  later(delayMs: number, work: () => void): () => void {
    return this.clock.later(delayMs, work)
  }

  async networkFs(path: string): Promise<string | undefined> {
    this.meet('networkFs', path)
    return undefined
  }

  async identity() {
    return { pid: this.pid, host: 'simulated', startedAt, bootId: null }
  }

  private handle(path: string, inode: number, isWritable: boolean): PortFile {
    this.openFiles += 1
    return new OpenFile({
      tree: this.tree,
      path,
      inode,
      isWritable,
      meet: (name) => this.meet(name, path),
      change: (operation, work) => void this.record(operation, work),
      stat: () => this.statOf(inode),
      onClose: () => void (this.openFiles -= 1),
    })
  }

  private statOf(inode: number): FileStat {
    const node = this.tree.node(inode)
    const isFile = node.kind === 'file'
    const sizeBytes = isFile ? node.content.length : 0
    const mode = isFile ? 0o600 : 0o700
    return { kind: node.kind, sizeBytes, mode, owner: this.owner, identity: String(inode) }
  }

  /** Counts a call, and fails it if that is its turn. */
  private meet(name: DiskCallName, path: string): DiskFault | undefined {
    const index = this.calls
    this.calls += 1
    const fault = this.onCall?.({ index, name, path })
    if (fault?.kind === 'refused' && name !== 'sync' && name !== 'close') throw systemError(fault.code)
    return fault
  }

  private change<T>(name: Exclude<DiskOperation['name'], 'write'>, path: string, work: () => T): T {
    return this.record({ name, path }, work)
  }

  private record<T>(operation: DiskOperation, work: () => T): T {
    const result = work()
    this.changes += 1
    if (this.isRecorded) {
      this.operations.push(operation)
      this.images.push(this.image())
    }
    return result
  }
}
