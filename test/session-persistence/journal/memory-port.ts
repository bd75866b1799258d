import { createHash } from 'node:crypto'
import { dirname } from 'node:path'
import type { FileStat, JournalPort, PortFile } from '@tidemark/session-persistence/journal'

interface Node {
  readonly kind: 'file' | 'folder'
  readonly inode: number
  content: Buffer
}

/** What a system call is refused with. */
export function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: by the test`), { code })
}

/**
 * A file system in memory: fast enough to damage a journal at every byte. Paths are absolute; the root is there.
 */
export class MemoryPort implements JournalPort {
  readonly hasModes = false
  private readonly nodes = new Map<string, Node>()
  private inodes = 0
  private randoms = 0

  constructor() {
    this.nodes.set('/', this.node('folder'))
  }

  /** The content of every file, by path. */
  files(): Map<string, Buffer> {
    const files = [...this.nodes].filter(([, { kind }]) => kind === 'file')
    return new Map(files.map(([path, { content }]) => [path, content]))
  }

  /** Puts a file's content in place of what it was, as damage does. */
  put(path: string, content: Buffer): void {
    this.at(path).content = content
  }

  copy(): MemoryPort {
    const copy = new MemoryPort()
    for (const [path, { kind, content }] of this.nodes) copy.nodes.set(path, { ...copy.node(kind), content })
    copy.randoms = this.randoms
    return copy
  }

  async open(path: string, how: 'read' | 'create'): Promise<PortFile> {
    if (how === 'create') {
      if (this.nodes.has(path)) throw systemError('EEXIST')
      this.folder(dirname(path))
      this.nodes.set(path, this.node('file'))
    }
    return new MemoryFile(this.at(path))
  }

  async stat(path: string): Promise<FileStat> {
    return toStat(this.at(path))
  }

  async realpath(path: string): Promise<string> {
    this.at(path)
    return path
  }

  async readdir(path: string): Promise<readonly string[]> {
    this.folder(path)
    return [...this.nodes.keys()]
      .filter((each) => each !== '/' && dirname(each) === path)
      .map((each) => each.split('/').at(-1)!)
  }

  async mkdir(path: string): Promise<void> {
    this.folder(dirname(path))
    if (this.nodes.has(path)) throw systemError('EEXIST')
    this.nodes.set(path, this.node('folder'))
  }

  async rmdir(path: string): Promise<void> {
    if ((await this.readdir(path)).length > 0) throw systemError('ENOTEMPTY')
    this.nodes.delete(path)
  }

  async rename(from: string, to: string): Promise<void> {
    const node = this.at(from)
    const target = this.nodes.get(to)
    if (target?.kind === 'folder' && (await this.readdir(to)).length > 0) throw systemError('ENOTEMPTY')
    if (target && target.kind !== node.kind) throw systemError(target.kind === 'file' ? 'ENOTDIR' : 'EISDIR')
    for (const [path, each] of [...this.nodes]) {
      if (path !== from && !path.startsWith(`${from}/`)) continue
      this.nodes.delete(path)
      this.nodes.set(to + path.slice(from.length), each)
    }
  }

  async link(from: string, to: string): Promise<void> {
    if (this.nodes.has(to)) throw systemError('EEXIST')
    this.nodes.set(to, this.at(from))
  }

  async unlink(path: string): Promise<void> {
    if (this.at(path).kind !== 'file') throw systemError('EISDIR')
    this.nodes.delete(path)
  }

  async chmod(path: string): Promise<void> {
    this.at(path)
  }

  async syncFolder(path: string): Promise<void> {
    this.folder(path)
  }

  now(): number {
    return 1_764_000_000_000
  }

  /** The same in every run, so that a log has the same bytes. */
  random(sizeBytes: number): string {
    this.randoms += 1
    return createHash('sha256')
      .update(String(this.randoms))
      .digest('hex')
      .slice(0, sizeBytes * 2)
  }

  async pause(): Promise<void> {
    return undefined
  }

  later(): () => void {
    return () => undefined
  }

  async networkFs(): Promise<string | undefined> {
    return undefined
  }

  async identity() {
    return { pid: 4_711, host: 'desk', startedAt: 1_764_000_000_000, bootId: null }
  }

  private node(kind: Node['kind']): Node {
    this.inodes += 1
    return { kind, inode: this.inodes, content: Buffer.alloc(0) }
  }

  private at(path: string): Node {
    const node = this.nodes.get(path)
    if (node === undefined) throw systemError('ENOENT')
    return node
  }

  private folder(path: string): void {
    if (this.at(path).kind !== 'folder') throw systemError('ENOTDIR')
  }
}

class MemoryFile implements PortFile {
  constructor(private readonly node: Node) {}

  async read(into: Uint8Array, offset: number): Promise<number> {
    return this.node.content.copy(into, 0, offset)
  }

  async write(bytes: Uint8Array, offset: number): Promise<number> {
    const { content } = this.node
    const grown = Buffer.alloc(Math.max(content.length, offset + bytes.length))
    content.copy(grown)
    grown.set(bytes, offset)
    this.node.content = grown
    return bytes.length
  }

  async sync(): Promise<void> {
    return undefined
  }

  async stat(): Promise<FileStat> {
    return toStat(this.node)
  }

  async chmod(): Promise<void> {
    return undefined
  }

  async close(): Promise<void> {
    return undefined
  }
}

function toStat({ kind, content, inode }: Node): FileStat {
  return { kind, sizeBytes: content.length, mode: 0o700, identity: String(inode) }
}
