import { join } from 'node:path'
import { assert } from '@tidemark/session-core'
import { reasonOf } from '../refusal.ts'
import { sha256 } from '../digest.ts'
import { parseJson } from '../json-text.ts'
import { follow, numberMax } from '../numbering.ts'
import type { Cell, CellFound, ReadTerms, ReplaceTerms } from '../store.ts'
import { hasReason, type ContinuityPort } from './port.ts'
import { cleanUp, createWhole, ensureFolder, findBytes, namesIn, refuseOpenFolder } from './private-file.ts'

/** Bytes of one value, with what proves it. */
const valueSizeBytesMax = 1_048_576

/**
 * Values that are kept. Who decided upon one that is older than all of them finds a gap above its own, and so knows
 * that it came too late.
 */
export const keptMax = 16

/** A value that was removed between the listing and the opening is looked for so often. */
const looksMax = 64

export interface CellPlace {
  readonly port: ContinuityPort
  readonly path: string
  /** The folder above, whose own name is somebody else's to keep. */
  readonly above: string
  /** What the value is of. A file that was moved here from elsewhere does not say so. */
  readonly name: string
  /** `undefined`: the cell holds the very id. */
  readonly storeId: string | undefined
}

interface Content {
  readonly number: number
  readonly name: string
  readonly store: string | null
  readonly value: unknown
}

/**
 * A value under compare-and-swap, in a folder with a file for each of its last values: `000001`, `000002`, …
 *
 * 1. A number is taken by linking a file that is whole and synced, so none is ever torn, and a death in between
 *    leaves at most a `tmp-` file that nobody reads.
 * 2. The highest number counts. Where it does not prove itself, the cell is damaged: an older value is never taken
 *    for the newest.
 * 3. A number that nobody counted to is not followed, nor a name that is not spelled as we spell its number.
 * 4. No file is ever changed.
 */
export class FileCell implements Cell {
  constructor(private readonly place: CellPlace) {}

  async read({ known }: ReadTerms = {}): Promise<CellFound> {
    const { port, path } = this.place
    for (let looks = 0; looks < looksMax; looks++) {
      const names = await namesIn(port, path)
      const { numbers, strays } = follow(numbersIn(names), known)
      const hasStrays = strays.length > 0 || names.some(isMisspelled)
      const number = numbers.at(-1) ?? 0
      if (number === 0) return { kind: hasStrays ? 'damaged' : 'missing', number }
      await refuseOpenFolder(port, path)
      const content = await this.find(number)
      if (content === 'gone') continue
      return content === 'damaged'
        ? { kind: 'damaged', number }
        : { kind: 'found', number, value: content.value, ...(hasStrays && { hasStrays }) }
    }
    return { kind: 'damaged', number: 0 }
  }

  async replace(value: unknown, { expected, above = 0 }: ReplaceTerms): Promise<number | undefined> {
    const { port, path, name, storeId } = this.place
    if (expected === 0) await ensureFolder(port, path, this.place.above)
    const number = Math.max(expected, above) + 1
    assert(number <= numberMax, 'a number that is written can be read')
    const temporary = join(path, `tmp-${spell(number)}-${port.random(8)}`)
    const bytes = encode({ number, name, store: storeId ?? null, value })
    assert(bytes.length <= valueSizeBytesMax && decode(bytes), 'a value that is written can be read')
    await createWhole(port, temporary, bytes)
    const isTaken = !(await linkTo(port, temporary, join(path, spell(number))))
    await cleanUp(() => port.unlink(temporary))
    if (isTaken) return undefined
    await port.syncFolder(path)
    return (await this.isInSequence(number)) ? number : undefined
  }

  async settle(): Promise<void> {
    await this.place.port.syncFolder(this.place.path)
  }

  async provable(): Promise<readonly unknown[]> {
    const { port, path } = this.place
    const values: unknown[] = []
    for (const number of numbersIn(await namesIn(port, path))) {
      const content = await this.find(number)
      if (typeof content === 'object') values.push(content.value)
    }
    return values
  }

  /** Looks again: whoever came too late by more values than are kept finds none between its own and the newest. */
  private async isInSequence(number: number): Promise<boolean> {
    const names = await namesIn(this.place.port, this.place.path)
    const numbers = new Set(follow(numbersIn(names), number).numbers)
    await this.prune(names, number)
    const highest = Math.max(number, ...numbers)
    for (let next = number; next < highest; next++) if (!numbers.has(next)) return false
    return true
  }

  private async prune(names: readonly string[], number: number): Promise<void> {
    const { port, path } = this.place
    for (const each of names) {
      const own = findNumber(each)
      const passing = /^tmp-(\d+)-/.exec(each)?.[1]
      const isSpent = own !== undefined && own <= number - keptMax
      // Its number is taken: who made it, if it lives, is about to find out.
      const isLeft = passing !== undefined && Number(passing) <= number
      if (isSpent || isLeft) await cleanUp(() => port.unlink(join(path, each)))
    }
  }

  private async find(number: number): Promise<Content | 'gone' | 'damaged'> {
    const { port, path, name, storeId } = this.place
    try {
      const bytes = await findBytes(port, join(path, spell(number)), valueSizeBytesMax)
      if (bytes === undefined) return 'gone'
      const content = decode(bytes)
      const isOwn = content?.number === number && content.name === name && content.store === (storeId ?? null)
      return isOwn ? content : 'damaged'
    } catch (error) {
      if (reasonOf(error) !== 'damaged') throw error
      return 'damaged'
    }
  }
}

export function spell(number: number): string {
  return String(number).padStart(6, '0')
}

/** The number that a name spells. */
function findNumber(name: string): number | undefined {
  const number = /^\d{6,15}$/.test(name) ? Number(name) : 0
  return number > 0 && spell(number) === name ? number : undefined
}

/** A name that only looks like a number: no value is found under it. */
function isMisspelled(name: string): boolean {
  return /^\d+$/.test(name) && findNumber(name) === undefined
}

function numbersIn(names: readonly string[]): number[] {
  return names.flatMap((name) => findNumber(name) ?? [])
}

/** Whether the name was free. */
async function linkTo(port: ContinuityPort, from: string, to: string): Promise<boolean> {
  try {
    await port.link(from, to)
    return true
  } catch (error) {
    // A file that is gone was cleared away by whoever took the number.
    if (!hasReason(error, 'EEXIST', 'ENOENT')) throw error
    return false
  }
}

function encode({ number, name, store, value }: Content): Buffer {
  const cell = JSON.stringify({ format: 1, store, name, number, value })
  return Buffer.from(`{"cell":${cell},"sum":"${sha256(cell)}"}\n`)
}

/** What proves itself; `undefined` for a torn, empty, zeroed or foreign file. */
function decode(bytes: Buffer): Content | undefined {
  const whole = parseJson(bytes.toString()) as { cell?: Content & { format?: unknown } } | null | undefined
  const cell = whole?.cell
  if (typeof cell !== 'object' || cell === null || cell.format !== 1) return undefined
  return encode(cell).equals(bytes) ? cell : undefined
}
