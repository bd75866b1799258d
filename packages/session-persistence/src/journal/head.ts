import { join } from 'node:path'
import { isDigest, isRecord, isWhole } from './guard.ts'
import type { PortFile } from './port.ts'
import { createFile, findBytes } from './private-file.ts'
import type { Proof } from './recover.ts'
import { openLine, sealLine } from './sealed-line.ts'
import type { SessionFolder } from './segment-file.ts'
import { parseName } from './segment-name.ts'
import { writeAll } from './writing.ts'

/** How far one epoch's writer has acknowledged. */
export interface Head {
  readonly epoch: number
  readonly seq: number
  readonly segment: string
  /** Where the batch of `seq` ends in the segment. */
  readonly offset: number
  readonly digest: string
  /** Whether it was written before each acknowledgement, and so says exactly what was acknowledged. */
  readonly strict: boolean
}

/** What a head says of the log. */
export function proofOf(head: Head): Proof {
  const { epoch, seq } = head
  return { source: 'head', epoch, rotation: rotationOf(head), seq }
}

/** Of the segment that a head is of. */
export function rotationOf({ segment }: Head): number {
  const name = parseName(segment)
  return name.kind === 'segment' ? name.rotation : 0
}

/** Two slots are written in turn, so that the older one is whole while the newer one is written. */
const slotSizeBytes = 512
const slotCount = 2

export function headName(epoch: number): string {
  return `head-${String(epoch).padStart(6, '0')}`
}

function sealHead({ epoch, seq, segment, offset, digest, strict }: Head): Buffer {
  const { text } = sealLine('head', { epoch, seq, segment, offset, digest, strict })
  return Buffer.from(`${text.padEnd(slotSizeBytes - 1)}\n`)
}

/** The newest head in the bytes of a head file; `undefined` when no slot proves itself. */
function parseHead(bytes: Buffer, epoch: number): Head | undefined {
  let newest: Head | undefined
  for (let slot = 0; slot < slotCount; slot++) {
    const text = bytes.subarray(slot * slotSizeBytes, (slot + 1) * slotSizeBytes).toString()
    const head = openLine('head', text.trimEnd())?.fields
    if (!isHead(head) || head.epoch !== epoch) continue
    if (newest === undefined || head.seq >= newest.seq) newest = head
  }
  return newest
}

/** The durable head of an epoch; `undefined` when there is none, or none that proves itself. */
export async function readHead(folder: SessionFolder, epoch: number): Promise<Head | undefined> {
  const path = join(folder.path, headName(epoch))
  const bytes = await findBytes(folder.port, path, slotSizeBytes * slotCount)
  return bytes && parseHead(bytes, epoch) // without one its writer has acknowledged nothing, or not for long
}

/** The head of one lease's epoch. It is created when there is something to say. */
export class HeadFile {
  private file: PortFile | undefined
  private writes = 0

  constructor(
    private folder: SessionFolder,
    private readonly epoch: number,
  ) {}

  /** Durable when it resolves. After a failure nothing is written through it again: that is the caller's part. */
  async write(head: Omit<Head, 'epoch'>): Promise<void> {
    const file = this.file ?? (await this.create())
    const offset = (this.writes % slotCount) * slotSizeBytes
    this.writes += 1
    await writeAll(file, sealHead({ epoch: this.epoch, ...head }), offset)
    await file.sync()
    if (this.writes === 1) await this.folder.port.syncFolder(this.folder.path)
  }

  /** The folder has another name from now on; the file in it is the same. */
  movedTo(folder: SessionFolder): void {
    this.folder = folder
  }

  async close(): Promise<void> {
    const { file } = this
    this.file = undefined
    await file?.close()
  }

  private async create(): Promise<PortFile> {
    const { file } = await createFile(this.folder.port, join(this.folder.path, headName(this.epoch)))
    return (this.file = file)
  }
}

function isHead(fields: unknown): fields is Head {
  if (!isRecord(fields)) return false
  const { epoch, seq, segment, offset, digest, strict } = fields
  const isPlaced = isWhole(epoch, 1) && isWhole(seq, -1) && isWhole(offset, 0)
  return isPlaced && typeof segment === 'string' && isDigest(digest) && typeof strict === 'boolean'
}
