import type { DiskImage, DiskNode, FolderNode, NameOperation } from '../disk/image.ts'
import { withName } from '../disk/tree.ts'
import type { Seeded } from '../seeded.ts'

/** Up to so many changes of names, every subset is tried; of more, so many subsets. */
const operationsMax = 4
const samplesMax = 12

/** Which changes of names a power cut leaves, one bit for each, oldest first. */
export type NameChoice = readonly boolean[]

/** A disk writes names in any order, so each change may be there without the others. */
export function nameChoices({ unsynced }: DiskImage, random: Seeded): NameChoice[] {
  const count = unsynced.length
  if (count <= operationsMax) {
    return Array.from({ length: 2 ** count }, (_, bits) =>
      unsynced.map((_, index) => ((bits >> index) & 1) === 1),
    )
  }
  const sampled = Array.from({ length: samplesMax }, () => unsynced.map(() => random.isOneIn(2)))
  return [unsynced.map(() => true), unsynced.map(() => false), ...sampled]
}

export function labelOf(choice: NameChoice): string {
  return choice.map((isThere) => (isThere ? '1' : '0')).join('')
}

/** The folders as a power cut leaves them; names that lead to nothing stay out. */
export function survivingFolders(
  { nodes, unsynced }: DiskImage,
  choice: NameChoice,
): Map<number, FolderNode> {
  const folders = new Map<number, FolderNode>()
  for (const [inode, node] of nodes) if (node.kind === 'folder') folders.set(inode, settledFolder(node))
  for (const { effects } of unsynced.filter((_, index) => choice[index])) {
    for (const { folder, name, inode } of effects) {
      const node = folders.get(folder)
      if (node) folders.set(folder, settledFolder({ ...node, durable: withName(node.durable, name, inode) }))
    }
  }
  return folders
}

function settledFolder({ durable }: FolderNode): FolderNode {
  return { kind: 'folder', names: durable, durable }
}

/** True when any name leads to this inode, now or after some power cut. */
export function isNamed({ nodes, unsynced }: DiskImage, inode: number): boolean {
  const holds = (node: DiskNode): boolean =>
    node.kind === 'folder' &&
    ([...node.durable.values()].includes(inode) || [...node.names.values()].includes(inode))
  const brings = ({ effects }: NameOperation): boolean => effects.some((effect) => effect.inode === inode)
  return [...nodes.values()].some(holds) || unsynced.some(brings)
}
