import { durableFile, withWrite, type DiskImage, type DiskNode, type FileNode } from '../disk/image.ts'
import type { DiskOperation, Recording } from '../disk/recording.ts'
import { Seeded } from '../seeded.ts'
import { isNamed, labelOf, nameChoices, survivingFolders, type NameChoice } from './surviving-names.ts'
import { survivorsOf, type Survivor } from './survivors.ts'

/** What one crash may leave. */
export interface CrashState {
  /** `kill`: what was written is still in memory. `power`: it is gone where it was not synced. */
  readonly kind: 'kill' | 'power'
  /** The operations before this one were done. */
  readonly point: number
  /** Which of the states at that point. */
  readonly choice: string
  readonly image: DiskImage
}

export interface CrashTerms {
  readonly seed: number
  /** About so many states; fewer where there are fewer. Default: all. */
  readonly statesMax?: number
  /** The first point wanted. Default: 0. */
  readonly from?: number
  /** Whether what was not written of an append to this file may be anything, and not only zeros. */
  readonly hasGarbage?: (path: string) => boolean
}

/** The choice of a state between two operations. */
export const wholeChoice = 'all'

/** States in one point of a power cut. */
const powerStatesMax = 160

/** Lengths of a write under way that a power cut is tried with. */
const cutsMax = 6

/**
 * The disks that a crash during what was recorded could leave: before and after every operation, with the last
 * write cut at every length, and, without power, with every part of what was not synced there or not. The same
 * state may come more than once.
 */
export function* crashStates(recording: Recording, terms: CrashTerms): Generator<CrashState, void> {
  const { images } = recording
  const share = Math.min(1, (terms.statesMax ?? Infinity) / estimate(recording, terms))
  for (let point = terms.from ?? 0; point < images.length; point++) {
    const random = Seeded.of(terms.seed, 'crash', point)
    const isWanted = (): boolean => share === 1 || random.next() < share * 0x1_0000_0000
    yield* statesAt(recording, point, { ...terms, random, isWanted })
  }
}

/** How many states there are, nearly. */
function estimate({ operations, images }: Recording, terms: CrashTerms): number {
  let count = 0
  for (let point = terms.from ?? 0; point < images.length; point++) {
    const image = images[point]
    const operation = operations[point]
    if (image === undefined) continue
    const power = Math.min(
      powerStatesMax,
      powerCount(image, { ...terms, random: Seeded.of(terms.seed, 'crash', point) }),
    )
    count += 1 + power
    if (operation?.name === 'write') count += operation.bytes.length + Math.min(power, powerStatesMax)
  }
  return count
}

interface ChanceTerms extends CrashTerms {
  readonly random: Seeded
}

interface PointTerms extends ChanceTerms {
  readonly isWanted: () => boolean
}

function* statesAt(
  { operations, images }: Recording,
  point: number,
  terms: PointTerms,
): Generator<CrashState, void> {
  const image = images[point]
  const operation = operations[point]
  if (image === undefined) return
  yield { kind: 'kill', point, choice: wholeChoice, image }
  yield* powerStates({ image, point, label: '' }, terms)
  if (operation?.name !== 'write') return
  for (let length = 1; length < operation.bytes.length; length++) {
    if (!terms.isWanted()) continue
    yield {
      kind: 'kill',
      point,
      choice: `byte ${length} of the write`,
      image: cutShort(image, operation, length),
    }
  }
  if (operation.bytes.length < 2) return
  for (let cuts = 0; cuts < cutsMax; cuts++) {
    const length = 1 + terms.random.below(operation.bytes.length - 1)
    const cut = { image: cutShort(image, operation, length), point, label: `byte ${length} of the write, ` }
    yield* powerStates(cut, { ...terms, isWanted: () => terms.random.isOneIn(cutsMax) && terms.isWanted() })
  }
}

/** The disk after only the first bytes of a write. */
export function cutShort(
  image: DiskImage,
  { inode, offset, bytes }: Extract<DiskOperation, { name: 'write' }>,
  length: number,
): DiskImage {
  const node = image.nodes.get(inode)
  if (node?.kind !== 'file') return image
  return {
    ...image,
    nodes: new Map(image.nodes).set(inode, withWrite(node, offset, bytes.subarray(0, length))),
  }
}

interface Moment {
  readonly image: DiskImage
  readonly point: number
  readonly label: string
}

/** A file whose content a power cut decides on. */
interface OpenQuestion {
  readonly inode: number
  readonly survivors: readonly Survivor[]
}

function* powerStates({ image, point, label }: Moment, terms: PointTerms): Generator<CrashState, void> {
  const { random } = terms
  const questions = questionsOf(image, terms)
  const names = nameChoices(image, random)
  const total = questions.reduce((product, { survivors }) => product * survivors.length, names.length)
  const state = (choice: NameChoice, kept: readonly Survivor[]): CrashState => ({
    kind: 'power',
    point,
    choice: `${label}names ${labelOf(choice) || '-'}${kept.map((each) => `; ${each.label}`).join('')}`,
    image: withoutPower(image, choice, new Map(questions.map(({ inode }, index) => [inode, kept[index]]))),
  })
  for (let index = 0; index < Math.min(total, powerStatesMax); index++) {
    // Nothing that was not synced: the hardest one, and never left to chance.
    if (index > 0 && !terms.isWanted()) continue
    let rest = total <= powerStatesMax ? index : random.below(total)
    const kept = questions.flatMap(({ survivors }) => {
      const chosen = survivors[rest % survivors.length]
      rest = Math.floor(rest / survivors.length)
      return chosen ? [chosen] : []
    })
    yield state(names[rest] ?? [], kept)
  }
}

function powerCount(image: DiskImage, terms: ChanceTerms): number {
  const names = nameChoices(image, terms.random).length
  return questionsOf(image, terms).reduce((product, { survivors }) => product * survivors.length, names)
}

function questionsOf(image: DiskImage, { random, hasGarbage }: ChanceTerms): OpenQuestion[] {
  const questions: OpenQuestion[] = []
  for (const [inode, node] of image.nodes) {
    if (!isUnsynced(node) || !isNamed(image, inode)) continue
    const isAppend =
      node.durable.length > 0 && node.writes.every(({ offset }) => offset >= node.durable.length)
    const isUnsure = isAppend && hasGarbage !== undefined && hasGarbage(pathOf(image, inode))
    questions.push({ inode, survivors: survivorsOf(node, { random, hasGarbage: isUnsure }) })
  }
  return questions
}

function isUnsynced(node: DiskNode): node is FileNode {
  return node.kind === 'file' && node.writes.length > 0
}

/** The last part of the path is enough to know what kind of file it is. */
function pathOf({ nodes }: DiskImage, inode: number): string {
  for (const node of nodes.values()) {
    if (node.kind !== 'folder') continue
    for (const [name, child] of node.names) if (child === inode) return name
  }
  return ''
}

/** The disk after a power cut: what is left of it is durable. */
function withoutPower(
  image: DiskImage,
  names: NameChoice,
  kept: ReadonlyMap<number, Survivor | undefined>,
): DiskImage {
  const nodes = new Map<number, DiskNode>(survivingFolders(image, names))
  for (const [inode, node] of image.nodes) {
    if (node.kind === 'file') nodes.set(inode, durableFile(kept.get(inode)?.build() ?? node.durable))
  }
  return { ...image, nodes, unsynced: [] }
}

/** The disk after a power cut that takes everything it can. */
export function withNothingUnsynced(image: DiskImage): DiskImage {
  return withoutPower(
    image,
    image.unsynced.map(() => false),
    new Map(),
  )
}
