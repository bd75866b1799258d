import { assert } from '@tidemark/session-core'
import { systemError } from './fault.ts'
import {
  emptyFile,
  folderNode,
  grownTo,
  overwritten,
  rootInode,
  withWrite,
  type DiskNode,
  type FileNode,
  type FolderNode,
  type NameEffect,
  type NameOperation,
  type PendingWrite,
} from './image.ts'

/**
 * Files and folders, and what of them is durable.
 *
 * 1. A node is never changed, only replaced, so an image is as cheap as a list of them.
 * 2. What fails changes nothing.
 */
export class DiskTree {
  private readonly inodes = new Map<string, number>()

  constructor(
    readonly nodes: Map<number, DiskNode>,
    public unsynced: readonly NameOperation[],
    public inodeNext: number,
  ) {}

  find(path: string): number {
    const known = this.inodes.get(path)
    if (known !== undefined) return known
    let inode = rootInode
    for (const name of path.split('/')) {
      if (name === '') continue
      const child = this.folderAt(inode).names.get(name)
      if (child === undefined) throw systemError('ENOENT')
      inode = child
    }
    this.inodes.set(path, inode)
    return inode
  }

  node(inode: number): DiskNode {
    const node = this.nodes.get(inode)
    assert(node, 'an inode leads to a node')
    return node
  }

  file(inode: number): FileNode {
    const node = this.node(inode)
    if (node.kind !== 'file') throw systemError('EISDIR')
    return node
  }

  folder(path: string): FolderNode {
    return this.folderAt(this.find(path))
  }

  add(path: string, kind: DiskNode['kind']): number {
    const { folder, name } = this.place(path)
    if (this.folderAt(folder).names.has(name)) throw systemError('EEXIST')
    const inode = this.inodeNext
    this.inodeNext += 1
    this.nodes.set(inode, kind === 'file' ? emptyFile : folderNode())
    this.apply(`create ${path}`, [{ folder, name, inode }])
    return inode
  }

  link(from: string, to: string): void {
    const inode = this.find(from)
    this.file(inode)
    const { folder, name } = this.place(to)
    if (this.folderAt(folder).names.has(name)) throw systemError('EEXIST')
    this.apply(`link ${to}`, [{ folder, name, inode }])
  }

  unlink(path: string): void {
    this.file(this.find(path))
    this.apply(`unlink ${path}`, [this.place(path)])
  }

  removeFolder(path: string): void {
    if (this.folder(path).names.size > 0) throw systemError('ENOTEMPTY')
    this.apply(`rmdir ${path}`, [this.place(path)])
  }

  rename(from: string, to: string): void {
    const inode = this.find(from)
    const { kind } = this.node(inode)
    const place = this.place(to)
    const target = this.folderAt(place.folder).names.get(place.name)
    if (target === inode) return
    const taken = target === undefined ? undefined : this.node(target)
    if (taken && taken.kind !== kind) throw systemError(kind === 'folder' ? 'ENOTDIR' : 'EISDIR')
    if (taken?.kind === 'folder' && taken.names.size > 0) throw systemError('ENOTEMPTY')
    this.apply(`rename ${from} ${to}`, [this.place(from), { ...place, inode }])
  }

  /** Changes of names in a folder that a sync which begins now makes durable. */
  unsyncedIn(path: string): readonly NameOperation[] {
    const inode = this.find(path)
    this.folderAt(inode)
    return this.unsynced.filter(({ effects }) => effects.some(({ folder }) => folder === inode))
  }

  syncNames(operations: readonly NameOperation[]): void {
    for (const { effects } of this.unsynced.filter((each) => operations.includes(each))) {
      for (const effect of effects) this.replaceNames(effect, 'durable')
    }
    this.unsynced = this.unsynced.filter((each) => !operations.includes(each))
  }

  write(inode: number, offset: number, bytes: Buffer): void {
    this.nodes.set(inode, withWrite(this.file(inode), offset, bytes))
  }

  /** Makes durable what was written when the sync began, as far as no sync of it has failed meanwhile. */
  sync(inode: number, begun: readonly PendingWrite[]): void {
    const { content, durable, writes } = this.file(inode)
    if (begun.length === 0) return
    const isWhole = (write: PendingWrite): boolean => begun.includes(write) && !write.isDoomed
    const done = writes.filter(isWhole)
    const left = writes.filter((write) => !isWhole(write))
    // The length is written even where the bytes that made it are lost.
    const sizeBytes = Math.max(durable.length, ...begun.map(({ offset, bytes }) => offset + bytes.length))
    const grown = grownTo(durable, sizeBytes)
    this.nodes.set(inode, {
      kind: 'file',
      content,
      durable: left.length === 0 ? content : done.reduce(withBytes, grown),
      writes: left,
    })
  }

  /** A sync that failed: what it should have written may be on the disk or not, and stays so. */
  doom(inode: number, pages: 'clean' | 'dropped'): void {
    const { content, durable, writes } = this.file(inode)
    const doomed = writes.map((write) => ({ ...write, isDoomed: true }))
    const kept = pages === 'clean' ? content : grownTo(durable, content.length)
    this.nodes.set(inode, { kind: 'file', content: kept, durable, writes: doomed })
  }

  private folderAt(inode: number): FolderNode {
    const node = this.node(inode)
    if (node.kind !== 'folder') throw systemError('ENOTDIR')
    return node
  }

  private place(path: string): { folder: number; name: string } {
    const at = path.lastIndexOf('/')
    const folder = this.find(path.slice(0, at) || '/')
    this.folderAt(folder)
    return { folder, name: path.slice(at + 1) }
  }

  private apply(what: string, effects: readonly NameEffect[]): void {
    for (const effect of effects) this.replaceNames(effect, 'names')
    this.unsynced = [...this.unsynced, { what, effects }]
    this.inodes.clear()
  }

  private replaceNames({ folder, name, inode }: NameEffect, which: 'names' | 'durable'): void {
    const node = this.folderAt(folder)
    this.nodes.set(folder, { ...node, [which]: withName(node[which], name, inode) })
  }
}

export function withName(
  names: ReadonlyMap<string, number>,
  name: string,
  inode?: number,
): Map<string, number> {
  const changed = new Map(names)
  if (inode === undefined) changed.delete(name)
  else changed.set(name, inode)
  return changed
}

function withBytes(content: Buffer, { offset, bytes }: PendingWrite): Buffer {
  return overwritten(content, offset, bytes)
}
