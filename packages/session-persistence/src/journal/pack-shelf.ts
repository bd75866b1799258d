import { join } from 'node:path'
import type { SessionError } from '@tidemark/session-core'
import { unknownSession } from '../unknown-session.ts'
import { corrupt } from './failure.ts'
import { PackedFile, readPack, type BrokenPack, type Pack, type PlacedBlock } from './pack-file.ts'
import type { PackedSegment } from './pack-index.ts'
import { hasReason, type JournalPort } from './port.ts'
import { openFile } from './private-file.ts'
import { openRaw, type OpenedSegment, type SessionFolder } from './segment-file.ts'
import { packsIn } from './segment-name.ts'

export interface PackedSegmentIn {
  readonly pack: Pack
  readonly segment: PackedSegment
}

/** The names in a folder, and what its packs are. */
export interface Listing {
  readonly names: readonly string[]
  readonly packs: readonly Pack[]
  readonly broken: readonly BrokenPack[]
}

/** A pack is read once. @throws SessionError `NOT_FOUND`. */
export async function listPacked(folder: SessionFolder): Promise<Listing> {
  const { packs, broken } = folder.memory
  const names = await readNames(folder)
  const present = new Set(packsIn(names).map(({ name }) => name))
  for (const name of packs.keys()) if (!present.has(name)) packs.delete(name)
  broken.clear()
  for (const name of present) if (!packs.has(name)) await take(folder, name)
  return { names, packs: [...packs.values()], broken: [...broken.values()] }
}

/** Forgets packs that were known, and whose name leads to another file by now. */
export async function forgetReplaced({ port, path, memory }: SessionFolder): Promise<void> {
  for (const pack of memory.packs.values()) {
    if (!(await isSameFile(port, join(path, pack.name), pack))) memory.packs.delete(pack.name)
  }
}

async function isSameFile(port: JournalPort, path: string, pack: Pack): Promise<boolean> {
  try {
    const { identity, sizeBytes } = await port.stat(path)
    return identity === pack.identity && sizeBytes === pack.sizeBytes
  } catch (error) {
    if (!hasReason(error, 'ENOENT')) throw error
    return false
  }
}

/** Where a segment is packed, as far as the folder was listed. */
export function findPacked(folder: SessionFolder, name: string): PackedSegmentIn | undefined {
  for (const pack of folder.memory.packs.values()) {
    const segment = pack.byName.get(name)
    if (segment) return { pack, segment }
  }
  return undefined
}

/** A packed segment, to read; `undefined` when no pack that is known holds it, or not any more. */
export async function openPacked(folder: SessionFolder, name: string): Promise<OpenedSegment | undefined> {
  for (let found = findPacked(folder, name); found; found = findPacked(folder, name)) {
    const opened = await openIn(folder, found)
    if (opened) return opened
    folder.memory.packs.delete(found.pack.name)
  }
  return undefined
}

async function openIn(
  folder: SessionFolder,
  { pack, segment }: PackedSegmentIn,
): Promise<OpenedSegment | undefined> {
  const { port, path, memory } = folder
  try {
    const { file, stat } = await openFile(port, join(path, pack.name))
    if (stat.identity === pack.identity && stat.sizeBytes === pack.sizeBytes) {
      const onDamage = (block: PlacedBlock): SessionError => damaged(folder, { pack, segment }, block)
      const whole = { ...stat, sizeBytes: segment.bytes }
      const openOwn = async (): Promise<OpenedSegment | undefined> => openRaw(folder, segment.name)
      return {
        file: new PackedFile({
          file,
          stat: whole,
          pack,
          segment,
          port,
          texts: memory.texts,
          onDamage,
          openOwn,
        }),
        stat: whole,
      }
    }
    await file.close()
  } catch (error) {
    if (!hasReason(error, 'ENOENT')) throw error
  }
  return undefined // another pack holds it by now
}

async function readNames({ port, path, id }: SessionFolder): Promise<readonly string[]> {
  try {
    return await port.readdir(path)
  } catch (error) {
    throw hasReason(error, 'ENOENT') ? unknownSession(id) : error
  }
}

async function take({ port, path, memory }: SessionFolder, name: string): Promise<void> {
  try {
    const found = await readPack(port, path, name)
    if ('reason' in found) memory.broken.set(name, found)
    else memory.packs.set(name, found)
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
