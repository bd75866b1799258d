import type { Chain, Link } from './chain.ts'
import type { Pack } from './pack-file.ts'
import { passingPrefixes } from './folder-name.ts'
import { packName, parseName, segmentsIn, type JournalName, type SegmentName } from './segment-name.ts'

/** Sealed segments, and names of no more use, that may stand in a folder before they are packed. */
export const unpackedMax = 8

/** Bytes of sealed segments that may stand so: what many sessions of one or two lifecycles would keep. */
export const unpackedSizeBytesMax = 1_048_576

/** Bytes of the segments in one pack, unless one has more; what is as large is not written again. */
const packedSizeBytesMax = 67_108_864

/** The same where somebody waits for it. */
const hurriedSizeBytesMax = 16_777_216

/** Segments in one pack: their headers stand in its index. */
const packSegmentsMax = 4_096

/** A pack is written again with what follows it when it has at most so many times as much text. */
const mergeRatio = 2

/** A segment that another one seals. */
export interface SealedLink extends Link {
  readonly seal: NonNullable<Link['seal']>
  /** Whether its own writer went on in another one. */
  readonly isFull: boolean
}

/** One pack that is to be written: what it takes over, oldest first. */
export interface PackPlan {
  readonly name: string
  readonly parts: readonly Part[]
}

export type Part =
  | { readonly kind: 'segment'; readonly link: SealedLink; readonly sizeBytes: number; readonly count: 1 }
  | { readonly kind: 'pack'; readonly pack: Pack; readonly sizeBytes: number; readonly count: number }

/** The links before the one whose first batch was synced and looked at: what seals them is durable. */
export function sealedLinks({ links }: Chain, settled: SegmentName): readonly SealedLink[] {
  const end = links.findIndex(({ name }) => name === settled.name)
  return links.slice(0, Math.max(0, end)).flatMap((link, index) => {
    const isFull = links[index + 1]?.header.epoch === link.header.epoch
    return link.seal ? [{ ...link, seal: link.seal, isFull }] : []
  })
}

/** Whether a pack holds everything of a segment that counts. */
export function holds(pack: Pack, { name, seal }: SealedLink): boolean {
  const packed = pack.byName.get(name)
  if (packed === undefined || packed.bytes < seal.bytes) return false
  return packed.bytes > seal.bytes || packed.digest === seal.digest
}

/**
 * The next pack to be written: segments that stand unpacked one after the other, oldest first, and the packs before
 * them that are not much larger. So a byte is written again as often as what it stands in has grown by half, and
 * there are few packs.
 */
export function planPack(
  links: readonly SealedLink[],
  packs: readonly Pack[],
  isHurried: boolean,
): PackPlan | undefined {
  const parts = partsOf(links, packs)
  const sizeBytesMax = isHurried ? hurriedSizeBytesMax : packedSizeBytesMax
  // A large one waits for a writer that has time, and what follows it does not wait for that.
  const from = parts.findIndex(
    ({ kind, sizeBytes }) => kind === 'segment' && (!isHurried || sizeBytes <= sizeBytesMax),
  )
  if (from === -1) return undefined
  const taken: Part[] = []
  const total = { sizeBytes: 0, count: 0 }
  const take = (part: Part, add: 'push' | 'unshift'): void => {
    taken[add](part)
    total.sizeBytes += part.sizeBytes
    total.count += part.count
  }
  const fits = ({ sizeBytes, count }: Part): boolean =>
    total.sizeBytes + sizeBytes <= sizeBytesMax && total.count + count <= packSegmentsMax
  for (const part of parts.slice(from)) {
    if (part.kind === 'pack' || (taken.length > 0 && !fits(part))) break
    take(part, 'push')
  }
  for (let index = from - 1; index >= 0; index--) {
    const part = parts[index]
    if (part === undefined || !fits(part) || part.sizeBytes > mergeRatio * total.sizeBytes) break
    take(part, 'unshift')
  }
  return planOf(taken)
}

/** The same without the packs before: one of them turned out to be damaged. */
export function withoutPacks({ parts }: PackPlan): PackPlan {
  return planOf(parts.filter(({ kind }) => kind === 'segment'))
}

function planOf(parts: readonly Part[]): PackPlan {
  return { name: packName(firstOf(parts[0]), lastOf(parts.at(-1))), parts }
}

/** The log as it stands in the folder: each pack once, where the first of its segments is. */
function partsOf(links: readonly SealedLink[], packs: readonly Pack[]): readonly Part[] {
  const parts = new Map<string, Part>()
  for (const link of links) {
    const pack = packs.find((each) => holds(each, link))
    if (pack === undefined)
      parts.set(link.name, { kind: 'segment', link, sizeBytes: link.seal.bytes, count: 1 })
    else if (!parts.has(pack.name)) {
      const sizeBytes = pack.segments.reduce((sum, { bytes }) => sum + bytes, 0)
      parts.set(pack.name, { kind: 'pack', pack, sizeBytes, count: pack.segments.length })
    }
  }
  return [...parts.values()]
}

function firstOf(part: Part | undefined): string {
  return (part?.kind === 'pack' ? part.pack.segments[0]?.name : part?.link.name) ?? ''
}

function lastOf(part: Part | undefined): string {
  return (part?.kind === 'pack' ? part.pack.segments.at(-1)?.name : part?.link.name) ?? ''
}

/** Whether it is worth a look: a folder with so few names holds nothing that is due. */
export function mayBeDue(names: readonly string[], isHurried: boolean): boolean {
  const waiting = names.filter((name) => isWaiting(parseName(name)))
  const segments = segmentsIn(names)
  if (waiting.length > unpackedMax || segments.some(({ rotation }) => rotation > 0)) return true
  return !isHurried && segments.length > 1
}

function isWaiting({ kind, name }: JournalName): boolean {
  return kind === 'segment' || name.startsWith('head-') || name.startsWith(passingPrefixes.building)
}
