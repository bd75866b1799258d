import { isCorrupt } from '../refused-read.ts'
import { join } from 'node:path'
import type { Chain } from './chain.ts'
import { passingPrefixes } from './folder-name.ts'
import { findBlock, placedBlocks, type Pack } from './pack-file.ts'
import {
  holds,
  unpackedMax,
  unpackedSizeBytesMax,
  type PackPlan,
  type Part,
  type SealedLink,
} from './pack-plan.ts'
import { listPacked, type Listing } from './pack-shelf.ts'
import { PackWriter } from './pack-writer.ts'
import { hasReason } from './port.ts'
import { createFile, openFile } from './private-file.ts'
import { openRaw, type SessionFolder } from './segment-file.ts'
import { epochsOfHeads, parseName } from './segment-name.ts'
import { headName } from './head.ts'
import { isEmptyClaim } from './segment-start.ts'
import { cleanUp, closeAfterFailure } from './writing.ts'

/**
 * Writes a pack aside, makes it durable, and gives it its name. Removes nothing. `onBlock` is called before each
 * block, and `onReady` before the pack gets its name; what they throw ends the work, and leaves nothing.
 *
 * False when a pack that it was to take over is damaged.
 */
export async function writePack(
  folder: SessionFolder,
  { name, parts }: PackPlan,
  { onBlock, onReady }: { onBlock: () => void; onReady: () => Promise<void> },
): Promise<boolean> {
  const { port, path, id } = folder
  const aside = join(path, `${passingPrefixes.building}${port.random(8)}`)
  const { file } = await createFile(port, aside)
  let isOpen = true
  try {
    const writer = new PackWriter(port, file, onBlock)
    let isWhole = true
    for (const part of parts) isWhole &&= await add(folder, writer, part)
    if (isWhole) {
      await writer.finish(id)
      await file.sync()
    }
    isOpen = false
    await file.close()
    await onReady()
    if (isWhole) await port.rename(aside, join(path, name))
    else await cleanUp(() => port.unlink(aside))
    await port.syncFolder(path)
    return isWhole
  } catch (error) {
    if (isOpen) await closeAfterFailure(file)
    await cleanUp(() => port.unlink(aside))
    throw error
  }
}

async function add(folder: SessionFolder, writer: PackWriter, part: Part): Promise<boolean> {
  if (part.kind === 'segment') {
    const { name, seal, start } = part.link
    const opened = await openRaw(folder, name)
    if (opened === undefined) return false
    const { file } = opened
    try {
      await writer.addSegment({ ...seal, name, file, headerSizeBytes: start.offset })
      return true
    } finally {
      await file.close()
    }
  }
  const { file } = await openFile(folder.port, join(folder.path, part.pack.name))
  try {
    return await writer.addPack(part.pack, file)
  } finally {
    await file.close()
  }
}

/** What a folder holds, as far as packing goes. */
export interface Holdings {
  readonly listing: Listing
  readonly links: readonly SealedLink[]
  /** Names of no more use: of heads that are sealed, of claims that hold no event, and of packs that were not finished. */
  readonly spent: readonly string[]
  /** Segments that a pack holds, and that a crash left in a file of their own as well. */
  readonly doubledCount: number
}

/** Whether there is something to do: a segment that was full, what a crash left, so many names, or so many bytes. */
export function isDue({ links, listing, spent, doubledCount }: Holdings, isHurried: boolean): boolean {
  const unpacked = links.filter((link) => !listing.packs.some((pack) => holds(pack, link)))
  if (doubledCount > 0 || unpacked.some(({ isFull }) => isFull)) return true
  const sizeBytes = unpacked.reduce((sum, { seal }) => sum + seal.bytes, 0)
  // A writer that is about to go leaves bytes to one that has time.
  return unpacked.length + spent.length >= unpackedMax || (!isHurried && sizeBytes >= unpackedSizeBytesMax)
}

/** What a holder finds beside its own segment. */
export async function holdingsOf(
  folder: SessionFolder,
  { chain, links, epoch }: { chain: Chain; links: readonly SealedLink[]; epoch: number },
): Promise<Holdings> {
  const listing = await listPacked(folder)
  const { names } = listing
  const sealedEpoch = links.at(-1)?.header.epoch ?? 0
  // What an epoch proves counts up to its seal; the last one is kept in case that what seals it is damaged.
  const heads = epochsOfHeads(names).filter((of) => of < sealedEpoch)
  const spent = [...heads.map(headName), ...names.filter((name) => name.startsWith(passingPrefixes.building))]
  const doubledCount = links.filter(
    (link) => names.includes(link.name) && listing.packs.some((pack) => holds(pack, link)),
  ).length
  const inLog = new Set(chain.links.map(({ name }) => name))
  for (const name of names.map(parseName)) {
    if (name.kind !== 'segment' || name.epoch >= epoch || inLog.has(name.name)) continue
    if (await isEmpty(folder, name)) spent.push(name.name)
  }
  return { listing, links, spent, doubledCount }
}

async function isEmpty(...claim: Parameters<typeof isEmptyClaim>): Promise<boolean> {
  try {
    return await isEmptyClaim(...claim)
  } catch (error) {
    if (!isCorrupt(error)) throw error
    return false // it stays for whoever looks into the damage
  }
}

/** Names that a folder can do without. `sound`: packs that are known to be whole, which this adds to. */
export async function removableNames(
  folder: SessionFolder,
  { listing, links, spent }: Holdings,
  sound: Set<string>,
): Promise<readonly string[]> {
  const { names, packs } = listing
  const present = new Set(names)
  const isWhole = async (pack: Pack): Promise<boolean> => {
    if (!sound.has(pack.name) && (await isSound(folder, pack))) sound.add(pack.name)
    return sound.has(pack.name)
  }
  const removable: string[] = [...spent]
  for (const link of links) {
    const holder = present.has(link.name) && packs.find((pack) => holds(pack, link))
    if (holder && (await isWhole(holder))) removable.push(link.name)
  }
  const kept = new Set(packs)
  for (const pack of [...packs].sort((a, b) => a.textSizeBytes - b.textSizeBytes)) {
    const others = holdersOf(pack, kept)
    if (others === undefined) continue
    let isHeld = true
    for (const other of others) isHeld &&= await isWhole(other)
    if (!isHeld) continue
    kept.delete(pack)
    removable.push(pack.name)
  }
  return removable
}

/** Other packs that together hold all that one does; `undefined` when there are none. */
function holdersOf(pack: Pack, kept: ReadonlySet<Pack>): ReadonlySet<Pack> | undefined {
  const holders = new Set<Pack>()
  for (const { name, bytes } of pack.segments) {
    const holder = [...kept].find((other) => other !== pack && (other.byName.get(name)?.bytes ?? -1) >= bytes)
    if (holder === undefined) return undefined
    holders.add(holder)
  }
  return holders
}

/** Whether every block of a pack is what its index says. */
async function isSound({ port, path }: SessionFolder, pack: Pack): Promise<boolean> {
  try {
    const { file } = await openFile(port, join(path, pack.name))
    try {
      for (const block of placedBlocks(pack)) if (!(await findBlock(file, block))) return false
      return true
    } finally {
      await file.close()
    }
  } catch (error) {
    if (!hasReason(error, 'ENOENT')) throw error
    return false // somebody else has merged it
  }
}
