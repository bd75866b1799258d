import { join } from 'node:path'
import { SessionError, assert } from '@tidemark/session-core'
import { isCorrupt } from '../refused-read.ts'
import type { BlockTexts } from './block-texts.ts'
import { blockSizeBytes, codecOf } from './pack-codec.ts'
import * as index from './pack-index.ts'
import type { FileStat, JournalPort, PortFile } from './port.ts'
import { openFile } from './private-file.ts'
import type { OpenedSegment } from './segment-file.ts'
import { ReadOnlyFile } from './read-only-file.ts'
import { readSpan } from './span.ts'

/** Bytes of a block as it stands in the file. */
const packedSizeBytesMax = 2 * blockSizeBytes

/** A pack whose footer and index prove themselves. */
export interface Pack extends index.PackIndex {
  readonly name: string
  /** Of the file: under this name another one may stand by now. */
  readonly identity: string
  readonly sizeBytes: number
  readonly textSizeBytes: number
  readonly byName: ReadonlyMap<string, index.PackedSegment>
}

/** A pack that cannot be relied on. */
export interface BrokenPack {
  readonly name: string
  readonly reason: string
}

/** @throws the port's `ENOENT`; `UNSUPPORTED_FORMAT`. */
export async function readPack(port: JournalPort, folder: string, name: string): Promise<Pack | BrokenPack> {
  const { file, stat } = await openFile(port, join(folder, name))
  try {
    const found = await readIndex(file, stat.sizeBytes, port)
    if (typeof found === 'string') return { name, reason: found }
    const { identity, sizeBytes } = stat
    const byName = new Map(found.segments.map((segment) => [segment.name, segment]))
    return { ...found, name, identity, sizeBytes, textSizeBytes: index.textSizeBytesOf(found), byName }
  } finally {
    await file.close()
  }
}

/** The index; or why there is none. */
async function readIndex(
  file: PortFile,
  sizeBytes: number,
  port: JournalPort,
): Promise<index.PackIndex | string> {
  const indexTo = sizeBytes - index.footerSizeBytes
  const footer = indexTo < 0 ? undefined : index.parseFooter(await readSpan(file, indexTo, sizeBytes))
  if (footer === undefined) return 'has no footer that proves itself'
  if (footer.format > index.packFormat) {
    const { format } = footer
    throw new SessionError(
      'UNSUPPORTED_FORMAT',
      `a pack of format ${format}, newer than this program reads`,
      { format },
    )
  }
  if (footer.offset + footer.sizeBytes !== indexTo) return 'has another length than its footer says'
  const bytes = await readSpan(file, footer.offset, indexTo)
  if (index.digestOf(bytes) !== footer.digest) return 'has an index that does not prove itself'
  const found = index.parseIndex(await codecOf(port).expand(bytes, index.indexSizeBytesMax))
  return found && isSound(found, footer.offset) ? found : 'has an index that is none'
}

function isSound(found: index.PackIndex, blocksSizeBytes: number): boolean {
  const textSizeBytes = index.textSizeBytesOf(found)
  const isBlock = (block: index.Block): boolean =>
    block.textSizeBytes <= blockSizeBytes && block.sizeBytes <= packedSizeBytesMax
  const isWithin = (segment: index.PackedSegment): boolean => {
    const bodySizeBytes = segment.bytes - index.headerSizeBytesOf(segment)
    return bodySizeBytes >= 0 && segment.at + bodySizeBytes <= textSizeBytes
  }
  const sum = found.blocks.reduce((total, { sizeBytes }) => total + sizeBytes, 0)
  return sum === blocksSizeBytes && found.blocks.every(isBlock) && found.segments.every(isWithin)
}

/** Where a block stands, in the file and in the text. */
export interface PlacedBlock extends index.Block {
  readonly offset: number
  readonly at: number
}

export function placedBlocks({ blocks }: index.PackIndex): PlacedBlock[] {
  const placed: PlacedBlock[] = []
  let offset = 0
  let at = 0
  for (const block of blocks) {
    placed.push({ ...block, offset, at })
    offset += block.sizeBytes
    at += block.textSizeBytes
  }
  return placed
}

/** The compressed bytes of a block; `undefined` when they are not what the index says. */
export async function findBlock(file: PortFile, block: PlacedBlock): Promise<Buffer | undefined> {
  const bytes = await readSpan(file, block.offset, block.offset + block.sizeBytes)
  return index.digestOf(bytes) === block.digest ? bytes : undefined
}

/** What a damaged block says in the place of its text. */
export type OnDamage = (block: PlacedBlock) => SessionError

interface Opened {
  readonly file: PortFile
  readonly stat: FileStat
  readonly pack: Pack
  readonly segment: index.PackedSegment
  readonly port: JournalPort
  readonly texts: BlockTexts | undefined
  readonly onDamage: OnDamage
  /** The segment's own file, while it is still there. */
  readonly openOwn: () => Promise<OpenedSegment | undefined>
}

/** A segment as it was before it was packed: the same name, the same offsets, the same bytes. Read only. */
export class PackedFile extends ReadOnlyFile {
  private readonly front: Buffer
  private readonly blocks: readonly PlacedBlock[]
  /** The block that was read last. */
  private last: { readonly block: PlacedBlock; readonly text: Uint8Array } | undefined
  /** The segment's own file, once a block turned out to be damaged. */
  private own: PortFile | undefined

  constructor(private readonly opened: Opened) {
    super()
    this.front = Buffer.from(`${opened.segment.header}\n`)
    this.blocks = placedBlocks(opened.pack)
  }

  async read(into: Uint8Array, offset: number): Promise<number> {
    const { segment } = this.opened
    const countBytes = Math.min(into.length, segment.bytes - offset)
    if (countBytes <= 0) return 0
    if (offset < this.front.length) return this.front.copy(into, 0, offset, offset + countBytes)
    const at = segment.at + offset - this.front.length
    const found = this.own ?? (await this.findText(at))
    if (!('text' in found)) return found.read(into.subarray(0, countBytes), offset)
    const { block, text } = found
    const piece = text.subarray(at - block.at, at - block.at + countBytes)
    into.set(piece)
    return piece.length // the rest stands in the next block
  }

  /** Up to where the segment can be read from an offset on. */
  async readableTo(offset: number): Promise<number> {
    const piece = Buffer.alloc(blockSizeBytes)
    let to = offset
    try {
      for (let read = -1; read !== 0; to += read) read = await this.read(piece, to)
    } catch (error) {
      if (!isCorrupt(error)) throw error
    }
    return to
  }

  async stat(): Promise<FileStat> {
    return this.opened.stat
  }

  async close(): Promise<void> {
    await this.own?.close()
    await this.opened.file.close()
  }

  private async findText(at: number): Promise<{ block: PlacedBlock; text: Uint8Array } | PortFile> {
    const { last } = this
    if (last && isIn(last.block, at)) return last
    const block = findIn(this.blocks, at)
    const { onDamage, openOwn } = this.opened
    const text = await this.expanded(block)
    if (text) return (this.last = { block, text })
    this.own = (await openOwn())?.file
    if (this.own === undefined) throw onDamage(block)
    return this.own
  }

  /** `undefined` where the block is not what the index says. What is kept was, under this digest. */
  private async expanded(block: PlacedBlock): Promise<Uint8Array | undefined> {
    const { file, port, texts } = this.opened
    const known = texts?.find(block.digest)
    if (known?.length === block.textSizeBytes) return known
    const bytes = await findBlock(file, block)
    const text = bytes && (await codecOf(port).expand(bytes, block.textSizeBytes))
    if (text?.length !== block.textSizeBytes) return undefined
    texts?.keep(block.digest, text)
    return text
  }
}

/** Where in the text a block stands that holds this place. */
function findIn(blocks: readonly PlacedBlock[], at: number): PlacedBlock {
  let low = 0
  let high = blocks.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((blocks[middle]?.at ?? Infinity) <= at) low = middle
    else high = middle - 1
  }
  const block = blocks[low]
  assert(block && isIn(block, at), 'an index whose segments are in its blocks')
  return block
}

function isIn({ at, textSizeBytes }: PlacedBlock, wanted: number): boolean {
  return wanted >= at && wanted < at + textSizeBytes
}
