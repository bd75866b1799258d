import { join } from 'node:path'
import type { SessionError } from '@tidemark/session-core'
import { corrupt } from './failure.ts'
import { PackedFile, readPack, type BrokenPack, type Pack, type PlacedBlock } from './pack-file.ts'
import type { PackedSegment } from './pack-index.ts'
import { hasReason } from './port.ts'
import { openFile } from './private-file.ts'
import { openRaw, type OpenedSegment, type SessionFolder } from './segment-file.ts'
import { packsIn } from './segment-name.ts'

/** What is known of the packs in a folder, by name, since it was last listed. */
interface Shelf {
  readonly packs: Map<string, Pack>
  readonly broken: Map<string, BrokenPack>
}

/** Known as long as somebody works with the folder. */
const shelves = new WeakMap<SessionFolder, Shelf>()

export interface PackedSegmentIn {
  readonly pack: Pack
  readonly segment: PackedSegment
}

/** The names in a folder, and what its packs are. A pack is read once; what it holds does not change. */
export interface Listing {
  readonly names: readonly string[]
  readonly packs: readonly Pack[]
  readonly broken: readonly BrokenPack[]
}

export async function listPacked(folder: SessionFolder): Promise<Listing> {
  const { port, path } = folder
  const shelf = shelfOf(folder)
  const names = await port.readdir(path)
  const present = new Set(packsIn(names).map(({ name }) => name))
  for (const name of shelf.packs.keys()) if (!present.has(name)) shelf.packs.delete(name)
  shelf.broken.clear()
  for (const name of present) if (!shelf.packs.has(name)) await take(folder, shelf, name)
  return { names, packs: [...shelf.packs.values()], broken: [...shelf.broken.values()] }
}

/** Where a segment is packed, as far as the folder was listed. */
export function findPacked(folder: SessionFolder, name: string): PackedSegmentIn | undefined {
  for (const pack of shelves.get(folder)?.packs.values() ?? []) {
    const segment = pack.byName.get(name)
    if (segment) return { pack, segment }
  }
  return undefined
}

/** Forgets what is known: what keeps a folder for long need not keep that. */
export function forgetPacks(folder: SessionFolder): void {
  shelves.delete(folder)
}

/** A packed segment, to read; `undefined` when no pack that is known holds it, or not any more. */
export async function openPacked(folder: SessionFolder, name: string): Promise<OpenedSegment | undefined> {
  for (let found = findPacked(folder, name); found; found = findPacked(folder, name)) {
    const opened = await openIn(folder, found)
    if (opened) return opened
    shelfOf(folder).packs.delete(found.pack.name)
  }
  return undefined
}

async function openIn(
  folder: SessionFolder,
  { pack, segment }: PackedSegmentIn,
): Promise<OpenedSegment | undefined> {
  const { port, path } = folder
  try {
    const { file, stat } = await openFile(port, join(path, pack.name))
    if (stat.identity === pack.identity && stat.sizeBytes === pack.sizeBytes) {
      const onDamage = (block: PlacedBlock): SessionError => damaged(folder, { pack, segment }, block)
      const whole = { ...stat, sizeBytes: segment.bytes }
      const openOwn = async (): Promise<OpenedSegment | undefined> => openRaw(folder, segment.name)
      return {
        file: new PackedFile({ file, stat: whole, pack, segment, port, onDamage, openOwn }),
        stat: whole,
      }
    }
    await file.close()
  } catch (error) {
    if (!hasReason(error, 'ENOENT')) throw error
  }
  return undefined // another pack holds it by now
}

function shelfOf(folder: SessionFolder): Shelf {
  const known = shelves.get(folder)
  if (known) return known
  const shelf: Shelf = { packs: new Map(), broken: new Map() }
  shelves.set(folder, shelf)
  return shelf
}

async function take({ port, path }: SessionFolder, shelf: Shelf, name: string): Promise<void> {
  try {
    const found = await readPack(port, path, name)
    if ('reason' in found) shelf.broken.set(name, found)
    else shelf.packs.set(name, found)
  } catch (error) {
    if (!hasReason(error, 'ENOENT')) throw error // merged into another one meanwhile
  }
}

/** The offset is the segment's own: it names the first byte that cannot be read. */
function damaged(
  { id }: SessionFolder,
  { pack, segment }: PackedSegmentIn,
  { at, offset }: PlacedBlock,
): SessionError {
  const front = Buffer.byteLength(segment.header) + 1
  const reason = `stands in ${pack.name}, whose block at byte ${offset} is damaged`
  return corrupt(id, {
    segment: segment.name,
    reason,
    offset: front + Math.max(0, at - segment.at),
    rule: 'R1',
  })
}
