/** A write that no sync has made durable. */
export interface PendingWrite {
  readonly offset: number
  readonly bytes: Buffer
  /** A sync of it failed and marked its pages clean: no later sync writes it. */
  readonly isDoomed: boolean
}

export interface FileNode {
  readonly kind: 'file'
  /** What a program reads: the page cache. */
  readonly content: Buffer
  /** What a power cut certainly leaves. */
  readonly durable: Buffer
  /** In the order in which they were made. */
  readonly writes: readonly PendingWrite[]
}

export type Names = ReadonlyMap<string, number>

export interface FolderNode {
  readonly kind: 'folder'
  readonly names: Names
  readonly durable: Names
}

export type DiskNode = FileNode | FolderNode

/** One name that comes or goes; without an inode it goes. */
export interface NameEffect {
  readonly folder: number
  readonly name: string
  readonly inode?: number
}

/** A change of names that no sync has made durable. It happens as a whole or not at all. */
export interface NameOperation {
  readonly what: string
  readonly effects: readonly NameEffect[]
}

/** Everything that a disk holds at one moment. Never changed: a disk is made of it, and makes others. */
export interface DiskImage {
  readonly nodes: ReadonlyMap<number, DiskNode>
  readonly unsynced: readonly NameOperation[]
  readonly inodeNext: number
  readonly now: number
  /** Where the random numbers go on. */
  readonly draws: number
}

export const rootInode = 1

const noBytes = Buffer.alloc(0)

export const emptyFile: FileNode = { kind: 'file', content: noBytes, durable: noBytes, writes: [] }

export function folderNode(names: Names = new Map(), durable: Names = names): FolderNode {
  return { kind: 'folder', names, durable }
}

/** A file with this content, all of it durable. */
export function durableFile(content: Buffer): FileNode {
  return { kind: 'file', content, durable: content, writes: [] }
}

/** The bytes with others written over them, grown with zeros where those begin beyond the end. */
export function overwritten(content: Buffer, offset: number, bytes: Uint8Array): Buffer {
  if (offset === content.length) return Buffer.concat([content, bytes])
  const grown = Buffer.alloc(Math.max(content.length, offset + bytes.length))
  content.copy(grown)
  grown.set(bytes, offset)
  return grown
}

export function grownTo(content: Buffer, sizeBytes: number): Buffer {
  return content.length >= sizeBytes
    ? content
    : Buffer.concat([content, Buffer.alloc(sizeBytes - content.length)])
}

/** The node after a write that is not synced. */
export function withWrite(file: FileNode, offset: number, bytes: Buffer): FileNode {
  const content = overwritten(file.content, offset, bytes)
  return { ...file, content, writes: [...file.writes, { offset, bytes, isDoomed: false }] }
}

/** Each path below the root with its inode, folders before what they hold. */
export function* pathsOf(
  { nodes }: Pick<DiskImage, 'nodes'>,
  inode = rootInode,
  path = '',
): Generator<readonly [path: string, inode: number, node: DiskNode]> {
  const folder = nodes.get(inode)
  if (folder?.kind !== 'folder') return
  for (const [name, child] of folder.names) {
    const node = nodes.get(child)
    if (node === undefined) continue
    yield [`${path}/${name}`, child, node]
    yield* pathsOf({ nodes }, child, `${path}/${name}`)
  }
}

/** The files of an image by path. */
export function filesOf(image: Pick<DiskImage, 'nodes'>): Map<string, Buffer> {
  const files = new Map<string, Buffer>()
  for (const [path, , node] of pathsOf(image)) if (node.kind === 'file') files.set(path, node.content)
  return files
}
