import { rootInode, type DiskImage } from '../disk/image.ts'

/** Two 32-bit halves: a million states meet by chance in one run of ten million. */
type Hash = readonly [number, number]

const hashes = new WeakMap<Buffer, Hash>()

/** Names what a program could read of a disk, and what is known of it: the same for the same. */
export function fingerprint({ nodes }: Pick<DiskImage, 'nodes'>, known: string): string {
  const hash = new RunningHash()
  hash.text(known)
  const walk = (inode: number): void => {
    const node = nodes.get(inode)
    if (node?.kind === 'file') {
      const [low, high] = hashOf(node.content)
      hash.number(low)
      hash.number(high)
      hash.number(node.content.length)
    }
    if (node?.kind !== 'folder') return
    for (const name of [...node.names.keys()].sort()) {
      hash.text(name)
      walk(node.names.get(name) ?? rootInode)
    }
    hash.number(-1)
  }
  walk(rootInode)
  return hash.toString()
}

function hashOf(content: Buffer): Hash {
  const before = hashes.get(content)
  if (before) return before
  const hash = new RunningHash()
  const words = content.length >> 2
  for (let index = 0; index < words; index++) hash.number(content.readInt32LE(index * 4))
  for (let index = words * 4; index < content.length; index++) hash.number(content[index] ?? 0)
  hashes.set(content, hash.halves)
  return hash.halves
}

class RunningHash {
  private low = 0x811c9dc5
  private high = 0x9747b28c

  get halves(): Hash {
    return [this.low, this.high]
  }

  number(value: number): void {
    this.low = Math.imul(this.low ^ value, 0x01000193)
    this.low ^= this.low >>> 15
    this.high = Math.imul(this.high ^ value, 0x5bd1e995)
    this.high ^= this.high >>> 13
  }

  text(value: string): void {
    for (let index = 0; index < value.length; index++) this.number(value.charCodeAt(index))
    this.number(-2)
  }

  toString(): string {
    return `${(this.low >>> 0).toString(36)}.${(this.high >>> 0).toString(36)}`
  }
}
