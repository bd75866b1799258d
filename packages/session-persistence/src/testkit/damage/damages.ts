import { durableFile, pathsOf, type DiskImage, type DiskNode } from '../disk/image.ts'
import { withName } from '../disk/tree.ts'
import { Seeded } from '../seeded.ts'
import type { SoundLog } from './sound-log.ts'

/** One thing that went wrong with the files of a log. */
export interface Damage {
  readonly kind: DamageKind
  readonly path: string
  /** Where in the file, or with which other one. */
  readonly where: string
  /** It changes what this one file holds, and nothing else. */
  readonly isInside: boolean
  readonly apply: (image: DiskImage) => DiskImage
}

export type DamageKind =
  | 'bit flipped'
  | 'byte deleted'
  | 'byte inserted'
  | 'cut short'
  | 'line deleted'
  | 'line doubled'
  | 'lines swapped'
  | 'block zeroed'
  | 'file lost'
  | 'files swapped'
  | 'file doubled'
  | 'file stale'
  | 'file back'

const blockSizeBytes = 512

/** Every damage to every file of a log. */
export function* damagesOf(log: SoundLog, seed: number): Generator<Damage, void> {
  const files = filesIn(log.image)
  for (const file of files) {
    yield* damagedBytes(file, Seeded.of(seed, file.path))
    yield* damagedLines(file)
    yield* lostOrStale(file, log)
  }
  yield* damagedFiles(files)
  for (const [path, content] of log.removed) yield back(path, content)
}

interface DamagedFile {
  readonly path: string
  readonly inode: number
  readonly folder: number
  readonly content: Buffer
}

function filesIn(image: DiskImage): DamagedFile[] {
  const files: DamagedFile[] = []
  const folders = new Map<string, number>([['', 1]])
  for (const [path, inode, node] of pathsOf(image)) {
    const folder = folders.get(path.slice(0, path.lastIndexOf('/')))
    if (node.kind === 'folder') folders.set(path, inode)
    else if (folder !== undefined) files.push({ path, inode, folder, content: node.content })
  }
  return files
}

/** A file that was removed is there again. */
function back(path: string, content: Buffer): Damage {
  const at = path.lastIndexOf('/')
  const apply = (image: DiskImage): DiskImage => {
    const folder = [...pathsOf(image)].find(([each]) => each === path.slice(0, at))?.[1]
    if (folder === undefined) return image
    const inode = image.inodeNext
    const grown = withNode({ ...image, inodeNext: inode + 1 }, inode, durableFile(content))
    return withNames(grown, folder, (names) => withName(names, path.slice(at + 1), inode))
  }
  return { kind: 'file back', path, where: '', isInside: false, apply }
}

function put({ path, inode }: DamagedFile, kind: DamageKind, where: string): (make: () => Buffer) => Damage {
  return (make) => ({
    kind,
    path,
    where,
    isInside: true,
    apply: (image) => withNode(image, inode, durableFile(make())),
  })
}

function withNode(image: DiskImage, inode: number, node: DiskNode): DiskImage {
  return { ...image, nodes: new Map(image.nodes).set(inode, node) }
}

function* damagedBytes(file: DamagedFile, random: Seeded): Generator<Damage, void> {
  const { content } = file
  for (let offset = 0; offset < content.length; offset++) {
    const before = content.subarray(0, offset)
    const after = content.subarray(offset)
    for (let bit = 0; bit < 8; bit++) {
      yield put(file, 'bit flipped', `byte ${offset}, bit ${bit}`)(() => flipped(content, offset, bit))
    }
    yield put(file, 'byte deleted', `byte ${offset}`)(() => Buffer.concat([before, after.subarray(1)]))
    for (const byte of [10, random.pick([0, 32, 34, content[offset] ?? 0, random.below(256)])]) {
      const insert = (): Buffer => Buffer.concat([before, Buffer.of(byte), after])
      yield put(file, 'byte inserted', `${byte} at byte ${offset}`)(insert)
    }
    yield put(file, 'cut short', `at byte ${offset}`)(() => before)
    if (offset % blockSizeBytes === 0)
      yield put(file, 'block zeroed', `at byte ${offset}`)(() => zeroed(content, offset))
  }
}

function flipped(content: Buffer, offset: number, bit: number): Buffer {
  const copy = Buffer.from(content)
  copy[offset] = (copy[offset] ?? 0) ^ (1 << bit)
  return copy
}

function zeroed(content: Buffer, offset: number): Buffer {
  return Buffer.from(content).fill(0, offset, Math.min(offset + blockSizeBytes, content.length))
}

function* damagedLines(file: DamagedFile): Generator<Damage, void> {
  const lines = linesOf(file.content)
  const joined = (changed: readonly Buffer[]) => () => Buffer.concat(changed)
  for (const [index, line] of lines.entries()) {
    const before = lines.slice(0, index)
    const after = lines.slice(index + 1)
    yield put(file, 'line deleted', `line ${index + 1}`)(joined([...before, ...after]))
    yield put(file, 'line doubled', `line ${index + 1}`)(joined([...before, line, line, ...after]))
    for (const [distance, other] of after.entries()) {
      const swapped = [...before, other, ...after.with(distance, line)]
      const where = `lines ${index + 1} and ${index + distance + 2}`
      yield put(file, 'lines swapped', where)(joined(swapped))
    }
  }
}

function linesOf(content: Buffer): Buffer[] {
  const lines: Buffer[] = []
  for (let from = 0; from < content.length;) {
    const lf = content.indexOf(10, from)
    const to = lf === -1 ? content.length : lf + 1
    lines.push(content.subarray(from, to))
    from = to
  }
  return lines
}

function* lostOrStale(file: DamagedFile, { stale }: SoundLog): Generator<Damage, void> {
  const { path, folder } = file
  const name = path.slice(path.lastIndexOf('/') + 1)
  yield {
    kind: 'file lost',
    path,
    where: '',
    isInside: false,
    apply: (image) => withNames(image, folder, (names) => withName(names, name)),
  }
  for (const [index, content] of (stale.get(path) ?? []).entries())
    yield put(file, 'file stale', `version ${index}`)(() => content)
}

function withNames(
  image: DiskImage,
  inode: number,
  change: (names: ReadonlyMap<string, number>) => ReadonlyMap<string, number>,
): DiskImage {
  const node = image.nodes.get(inode)
  if (node?.kind !== 'folder') return image
  const names = change(node.names)
  return withNode(image, inode, { kind: 'folder', names, durable: names })
}

function* damagedFiles(files: readonly DamagedFile[]): Generator<Damage, void> {
  for (const file of files) {
    for (const other of files) {
      if (file === other || file.content.equals(other.content)) continue
      const { path } = other
      yield put(file, 'file doubled', `in the place of it: ${path}`)(() => other.content)
      if (file.inode > other.inode) continue
      const swap = (image: DiskImage): DiskImage =>
        withNode(
          withNode(image, file.inode, durableFile(other.content)),
          other.inode,
          durableFile(file.content),
        )
      yield { kind: 'files swapped', path: file.path, where: path, isInside: false, apply: swap }
    }
    yield* doubledAsNext(file, files)
  }
}

/** The same file again, under the next free name of its kind. */
function* doubledAsNext(file: DamagedFile, files: readonly DamagedFile[]): Generator<Damage, void> {
  const { path, folder, inode } = file
  const name = path.slice(path.lastIndexOf('/') + 1)
  const number = /\d+/.exec(name)
  if (number === null) return
  const isTaken = (candidate: string): boolean => files.some((each) => each.path.endsWith(`/${candidate}`))
  let [digits] = number as unknown as [string]
  let next = name
  while (isTaken(next)) {
    digits = String(Number(digits) + 1).padStart(digits.length, '0')
    next = name.slice(0, number.index) + digits + name.slice(number.index + number[0].length)
  }
  const apply = (image: DiskImage): DiskImage =>
    withNames(image, folder, (names) => withName(names, next, inode))
  yield { kind: 'file doubled', path, where: `as ${next}`, isInside: false, apply }
}
