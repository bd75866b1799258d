import { blockSizeBytes, codecOf } from './pack-codec.ts'
import { findBlock, placedBlocks, type Pack } from './pack-file.ts'
import * as index from './pack-index.ts'
import type { JournalPort, PortFile } from './port.ts'
import { readPieces } from './span.ts'
import { writeAll } from './writing.ts'

/** A segment that is to be packed: everything in its file up to its seal. */
export interface Source {
  readonly name: string
  readonly file: PortFile
  /** Of its header line, with the line end. */
  readonly headerSizeBytes: number
  readonly bytes: number
  readonly seq: number
  readonly digest: string
}

/** Blocks of another pack that are smaller are joined with what stands beside them. */
const keptSizeBytesMin = blockSizeBytes / 2

/** Writes one pack, block by block: it holds one in memory, and each header line. */
export class PackWriter {
  private readonly segments = new Map<string, index.PackedSegment>()
  private readonly blocks: index.Block[] = []
  private pending: Buffer[] = []
  private pendingSizeBytes = 0
  /** Of the file. */
  private offset = 0
  /** Of the text, what is pending included. */
  private at = 0

  constructor(
    private readonly port: JournalPort,
    private readonly file: PortFile,
    /** Called before each block; what it throws ends the writing. */
    private readonly onBlock: () => void,
  ) {}

  async addSegment({ name, file, headerSizeBytes, bytes, seq, digest }: Source): Promise<void> {
    const { at } = this
    const header: Buffer[] = []
    for await (const piece of readPieces(file, 0, headerSizeBytes)) header.push(piece)
    const line = Buffer.concat(header).subarray(0, -1).toString()
    for await (const piece of readPieces(file, headerSizeBytes, bytes)) await this.addText(piece)
    this.segments.set(name, { name, header: line, bytes, seq, digest, at })
  }

  /** Everything that another pack holds. Blocks that are large enough are taken as they are. */
  async addPack(pack: Pack, file: PortFile): Promise<boolean> {
    const from = this.at
    for (const block of placedBlocks(pack)) {
      const bytes = await findBlock(file, block)
      if (bytes === undefined) return false
      if (block.textSizeBytes >= keptSizeBytesMin) await this.addBlock(bytes, block)
      else await this.addText(await this.codec.expand(bytes, block.textSizeBytes))
    }
    for (const segment of pack.segments) {
      const known = this.segments.get(segment.name)
      if (known === undefined || known.bytes < segment.bytes)
        this.segments.set(segment.name, { ...segment, at: from + segment.at })
    }
    return true
  }

  /** Index and footer. The caller syncs. */
  async finish(session: string): Promise<void> {
    await this.flush()
    const { blocks, offset } = this
    const found: index.PackIndex = { session, segments: [...this.segments.values()], blocks }
    const bytes = await this.codec.compress(Buffer.from(JSON.stringify(found)))
    await this.put(bytes)
    const footer = {
      format: index.packFormat,
      offset,
      sizeBytes: bytes.length,
      digest: index.digestOf(bytes),
    }
    await this.put(index.sealFooter(footer))
  }

  private get codec() {
    return codecOf(this.port)
  }

  private async addText(text: Buffer): Promise<void> {
    for (let from = 0; from < text.length;) {
      const taken = Math.min(text.length - from, blockSizeBytes - this.pendingSizeBytes)
      this.pending.push(text.subarray(from, from + taken))
      this.pendingSizeBytes += taken
      this.at += taken
      from += taken
      if (this.pendingSizeBytes === blockSizeBytes) await this.flush()
    }
  }

  private async addBlock(bytes: Buffer, { textSizeBytes, sizeBytes, digest }: index.Block): Promise<void> {
    await this.flush()
    await this.put(bytes)
    this.at += textSizeBytes
    this.blocks.push({ textSizeBytes, sizeBytes, digest })
  }

  private async flush(): Promise<void> {
    const textSizeBytes = this.pendingSizeBytes
    if (textSizeBytes === 0) return
    const bytes = await this.codec.compress(Buffer.concat(this.pending))
    this.pending = []
    this.pendingSizeBytes = 0
    await this.put(bytes)
    this.blocks.push({ textSizeBytes, sizeBytes: bytes.length, digest: index.digestOf(bytes) })
  }

  private async put(bytes: Buffer): Promise<void> {
    this.onBlock()
    await writeAll(this.file, bytes, this.offset)
    this.offset += bytes.length
  }
}
