import type { FileNode, PendingWrite } from '../disk/image.ts'
import type { Seeded } from '../seeded.ts'

/** What a power cut may leave of one file. Built only when it is wanted. */
export interface Survivor {
  readonly label: string
  readonly build: () => Buffer
}

export interface SurvivorTerms {
  readonly random: Seeded
  /** Whether what was not written may read as anything at all, and not only as zeros. */
  readonly hasGarbage: boolean
}

/** The units that a disk writes as a whole. */
const chunkSizesBytes = [4_096, 512] as const

/** Up to so many chunks, every subset is tried; of more, so many subsets. */
const chunksMax = 4
const samplesMax = 16

/** A subset of chunks, one for each bit. */
interface Subset {
  readonly chunks: ReadonlySet<number>
  readonly label: string
}

/** Everything, nothing, and what lies between, of a file with writes that are not durable. */
export function survivorsOf(file: FileNode, { random, hasGarbage }: SurvivorTerms): Survivor[] {
  const { durable } = file
  const survivors: Survivor[] = [{ label: 'none', build: () => durable }]
  const fills = hasGarbage ? [undefined, random.next()] : [undefined]
  for (const sizeBytes of chunkSizesBytes) {
    for (const subset of subsetsOf(file, sizeBytes, random)) {
      for (const isCut of [false, true]) {
        for (const garbage of isCut ? [undefined] : fills) {
          const label = `${sizeBytes}-byte chunks ${subset.label}${isCut ? ', cut' : ''}${garbage === undefined ? '' : ', garbage'}`
          const terms = { sizeBytes, isCut, garbage }
          survivors.push({ label, build: () => survivor(file, subset.chunks, terms) })
        }
      }
    }
  }
  return survivors
}

function subsetsOf({ writes }: FileNode, chunkSizeBytes: number, random: Seeded): Subset[] {
  const chunks = [...new Set(writes.flatMap((write) => chunksIn(write, chunkSizeBytes)))]
  const of = (isThere: (index: number) => boolean): Subset => ({
    chunks: new Set(chunks.filter((_, index) => isThere(index))),
    label: chunks.map((_, index) => (isThere(index) ? '1' : '0')).join(''),
  })
  if (chunks.length <= chunksMax)
    return Array.from({ length: 2 ** chunks.length }, (_, bits) => of((index) => ((bits >> index) & 1) === 1))
  const sampled = Array.from({ length: samplesMax }, () => {
    const picked = chunks.map(() => random.isOneIn(2))
    return of((index) => picked[index] === true)
  })
  // Holes in a row of chunks are what a reader meets most, so the first and the last one are never left to chance.
  return [of(() => true), of((index) => index > 0), of((index) => index < chunks.length - 1), ...sampled]
}

function chunksIn({ offset, bytes }: PendingWrite, chunkSizeBytes: number): number[] {
  const first = Math.floor(offset / chunkSizeBytes)
  const last = Math.floor((offset + bytes.length - 1) / chunkSizeBytes)
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

interface Build {
  readonly sizeBytes: number
  /** The file ends with its last chunk that is there; otherwise it is as long as it was to be. */
  readonly isCut: boolean
  readonly garbage: number | undefined
}

function survivor(
  { durable, writes }: FileNode,
  chunks: ReadonlySet<number>,
  { sizeBytes, isCut, garbage }: Build,
): Buffer {
  const endOf = (write: PendingWrite): number => write.offset + write.bytes.length
  const wholeBytes = Math.max(durable.length, ...writes.map(endOf))
  const lastChunkEnd = chunks.size === 0 ? 0 : (Math.max(...chunks) + 1) * sizeBytes
  const content = Buffer.alloc(
    isCut ? Math.max(durable.length, Math.min(wholeBytes, lastChunkEnd)) : wholeBytes,
  )
  if (garbage !== undefined) fillNoise(content, garbage)
  durable.copy(content)
  for (const write of writes) {
    for (const chunk of chunksIn(write, sizeBytes)) {
      if (!chunks.has(chunk)) continue
      const from = Math.max(write.offset, chunk * sizeBytes)
      const to = Math.min(endOf(write), (chunk + 1) * sizeBytes, content.length)
      if (to > from) content.set(write.bytes.subarray(from - write.offset, to - write.offset), from)
    }
  }
  return content
}

function fillNoise(content: Buffer, seed: number): void {
  let state = seed | 1
  for (let index = 0; index < content.length; index++) {
    state = Math.imul(state, 0x01000193) ^ (state >>> 15)
    content[index] = state & 0xff
  }
}
