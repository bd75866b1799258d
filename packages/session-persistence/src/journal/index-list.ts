import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import { fitting } from '../fitting.ts'
import { parseJson } from '../json-text.ts'
import { hasReason, type JournalPort, type PortFile } from './port.ts'
import { createWhole, openFile } from './private-file.ts'
import { openLine, sealLine } from './sealed-line.ts'
import { readSpan } from './segment-file.ts'
import { LateLine } from './summary-line.ts'
import { cleanUp } from './writing.ts'

/** What stands in an index's list: at most one line for each session, in the order of lists. */
export interface IndexList {
  /** 0: there is none. */
  readonly number: number
  readonly lines: ReadonlyMap<string, LateLine>
}

export const noList: IndexList = { number: 0, lines: new Map() }

/** Of the lines in a list. */
export const linesSizeBytesMax = 67_108_864

/** A longer list is not read. A table takes less than the lines. */
const listSizeBytesMax = 2 * linesSizeBytesMax

const frontSizeBytesMax = 512

/** `missing`: another one has replaced it. `broken`: it does not prove itself, and is as good as none. */
export type FoundList = IndexList | 'missing' | 'broken'

/** Lists that were read before, so that what has not changed is not read again. */
export class IndexLists {
  private last: { readonly front: string; readonly list: IndexList } | undefined

  async read(port: JournalPort, path: string, number: number): Promise<FoundList> {
    try {
      const { file, stat } = await openFile(port, path)
      try {
        const { sizeBytes } = stat
        const bytes = await readSpan(file, 0, Math.min(sizeBytes, frontSizeBytesMax))
        const front = bytes.toString('latin1', 0, Math.max(0, bytes.indexOf(10)))
        if (this.last?.front === front && this.last.list.number === number) return this.last.list
        const proof = fitting(frontSchema, openLine('list', front)?.fields)
        if (proof === undefined || sizeBytes > listSizeBytesMax) return 'broken'
        const body = await readWhole(file, front.length + 1, sizeBytes)
        const { digest, tableSizeBytes } = proof
        if (digestOf(body.subarray(0, tableSizeBytes)) !== digest) return 'broken'
        const list = { number, lines: linesIn(body, tableSizeBytes) }
        this.last = { front, list }
        return list
      } finally {
        await file.close()
      }
    } catch (error) {
      if (!hasReason(error, 'ENOENT', 'ELOOP')) throw error
      return hasReason(error, 'ENOENT') ? 'missing' : 'broken'
    }
  }
}

/** At once, without copies: it is megabytes, and bounded. */
async function readWhole(file: PortFile, from: number, to: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(to - from)
  for (let read = 0; read < bytes.length;) {
    const countBytes = await file.read(bytes.subarray(read), from + read)
    if (countBytes === 0) return bytes.subarray(0, read)
    read += countBytes
  }
  return bytes
}

/**
 * Writes a list under a name that nobody has taken: of two who write the next one at once, the other gets false, and
 * nothing is changed. It is durable before it has its name, and the name when it resolves.
 */
export async function writeList(
  port: JournalPort,
  { folder, name, tag }: { folder: string; name: string; tag: string },
  lines: readonly LateLine[],
): Promise<boolean> {
  const aside = join(folder, `${name}.${tag}.tmp`)
  await createWhole(port, aside, bytesOf(lines))
  try {
    await port.link(aside, join(folder, name))
  } catch (error) {
    if (!hasReason(error, 'EEXIST', 'ENOENT')) throw error
    return false // another one was faster, and may have tidied up
  } finally {
    await cleanUp(() => port.unlink(aside))
  }
  await port.syncFolder(folder)
  return true
}

/**
 * Three parts: a front that proves the table; the table, which says of every line whose it is, how it is sorted and
 * where it ends; the lines, of which each proves itself. So what is not shown need not be read.
 */
function bytesOf(lines: readonly LateLine[]): Buffer {
  const texts = lines.map(({ text }) => Buffer.from(`${text}\n`))
  let endBytes = 0
  const table: Table = {
    folders: lines.map(({ folder }) => folder),
    activeAt: lines.map(({ activeAt }) => activeAt),
    ends: texts.map(({ length }) => (endBytes += length)),
  }
  const body = Buffer.from(`${JSON.stringify(table)}\n`)
  const { text } = sealLine('list', { format: 1, tableSizeBytes: body.length, digest: digestOf(body) })
  return Buffer.concat([Buffer.from(`${text}\n`), body, ...texts])
}

interface Table {
  readonly folders: readonly string[]
  readonly activeAt: readonly number[]
  /** Bytes from where the lines begin to where each one ends. */
  readonly ends: readonly number[]
}

function linesIn(bytes: Buffer, tableSizeBytes: number): ReadonlyMap<string, LateLine> {
  const { folders, activeAt, ends } = parseJson(bytes.toString('utf8', 0, tableSizeBytes)) as Table
  const found = new Map<string, LateLine>()
  let from = tableSizeBytes
  for (const [index, folder] of folders.entries()) {
    const end = tableSizeBytes + (ends[index] ?? 0)
    found.set(folder, new LateLine(folder, activeAt[index] ?? 0, { bytes, from, to: end - 1 }))
    from = end
  }
  return found
}

function digestOf(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('hex')
}

const frontSchema = z.object({ format: z.literal(1), digest: z.string(), tableSizeBytes: z.int().min(0) })
