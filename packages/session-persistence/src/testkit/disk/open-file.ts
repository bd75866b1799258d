import type { FileStat, PortFile } from '../../journal/port.ts'
import { systemError, type DiskCallName, type DiskFault } from './fault.ts'
import type { DiskOperation } from './recording.ts'
import type { DiskTree } from './tree.ts'
import { inWork } from './work.ts'

interface Descriptor {
  readonly tree: DiskTree
  readonly path: string
  readonly inode: number
  readonly isWritable: boolean
  readonly meet: (name: DiskCallName) => DiskFault | undefined
  readonly change: (operation: DiskOperation, work: () => void) => void
  readonly stat: () => FileStat
  readonly onClose: () => void
}

/** An open file of a simulated disk. It leads to its file also when that has lost its name. */
export class OpenFile implements PortFile {
  private isClosed = false

  constructor(private readonly own: Descriptor) {}

  async read(into: Uint8Array, offset: number): Promise<number> {
    this.begin('read')
    return this.own.tree.file(this.own.inode).content.copy(into, 0, offset)
  }

  async write(bytes: Uint8Array, offset: number): Promise<number> {
    const { tree, path, inode, isWritable } = this.own
    const fault = this.begin('write')
    if (!isWritable) throw systemError('EBADF')
    const isShort = fault?.kind === 'short'
    // The caller may use its buffer again.
    const taken = Buffer.from(isShort ? bytes.subarray(0, bytes.length >> 1) : bytes)
    if (taken.length === 0) return 0
    this.own.change({ name: 'write', path, inode, offset, bytes: taken }, () =>
      tree.write(inode, offset, taken),
    )
    return taken.length
  }

  async sync(): Promise<void> {
    const { tree, path, inode } = this.own
    const fault = this.begin('sync')
    if (fault?.kind !== 'refused') {
      const { writes } = tree.file(inode)
      await inWork()
      this.own.change({ name: 'sync', path }, () => tree.sync(inode, writes))
      return
    }
    const { pages = 'kept', code } = fault
    if (pages !== 'kept') this.own.change({ name: 'failed sync', path }, () => tree.doom(inode, pages))
    throw systemError(code)
  }

  async stat(): Promise<FileStat> {
    this.begin('fstat')
    return this.own.stat()
  }

  async chmod(): Promise<void> {
    this.begin('fchmod')
  }

  async close(): Promise<void> {
    const fault = this.begin('close')
    this.isClosed = true
    this.own.onClose()
    // The descriptor is gone even when close fails.
    if (fault?.kind === 'refused') throw systemError(fault.code)
  }

  private begin(name: DiskCallName): DiskFault | undefined {
    if (this.isClosed) throw systemError('EBADF')
    return this.own.meet(name)
  }
}
