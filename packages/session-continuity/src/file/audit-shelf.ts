import { join } from 'node:path'
import { assert } from '@tidemark/session-core'
import { numberMax } from '../numbering.ts'
import { reasonOf, refusal } from '../refusal.ts'
import { entrySizeBytesMax } from '../audit-entry.ts'
import type { AuditShelf, AuditWriter } from '../store.ts'
import { spell } from './cell.ts'
import { hasReason, type ContinuityPort, type PortFile } from './port.ts'
import {
  cleanUp,
  createFile,
  ensureFolder,
  findBytes,
  namesIn,
  onMedium,
  refuseOpenFolder,
  writeAll,
} from './private-file.ts'

export interface AuditShelfOptions {
  readonly port: ContinuityPort
  readonly path: string
  readonly above: string
  /** Bytes of one incarnation's file; what would not fit is refused. */
  readonly sizeBytesMax: number
}

const pauseMs = 5

/** Larger than any file of any configuration: one that was written under another one is read all the same. */
const readSizeBytesMax = 1_073_741_824 + entrySizeBytesMax

/** The audit files of a scope: `000001.jsonl`, …, one for each incarnation, and the sockets of the living ones. */
export class FileAuditShelf implements AuditShelf {
  constructor(private readonly options: AuditShelfOptions) {}

  async numbers(): Promise<readonly number[]> {
    const { port, path } = this.options
    const names = await onMedium('listing an audit folder', async () => {
      const found = await namesIn(port, path)
      if (found.length > 0) await refuseOpenFolder(port, path)
      return found
    })
    return names
      .flatMap((name) => /^(\d{6,15})\.jsonl$/.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b)
  }

  async read(number: number): Promise<Uint8Array | undefined> {
    const { port } = this.options
    try {
      return await onMedium('reading an audit file', () =>
        findBytes(port, this.fileOf(number), readSizeBytesMax),
      )
    } catch (error) {
      if (reasonOf(error) !== 'damaged') throw error
      return new Uint8Array() // no file of ours: nothing in it proves anything
    }
  }

  /** The first line is whole and durable when the name appears, and its writer goes on in the same file. */
  create(number: number, line: string): Promise<AuditWriter | undefined> {
    const { port, path, sizeBytesMax } = this.options
    assert(number <= numberMax, 'a number that is written can be read')
    return onMedium('creating an audit file', async () => {
      const temporary = join(path, `tmp-${spell(number)}-${port.random(8)}`)
      const file = await createFile(port, temporary)
      try {
        const bytes = Buffer.from(line)
        await writeAll(file, bytes, 0)
        await file.sync()
        await port.link(temporary, this.fileOf(number))
        await port.syncFolder(path)
        return new FileAuditWriter(file, { offset: bytes.length, sizeBytesMax })
      } catch (error) {
        await cleanUp(() => file.close())
        // A file that is gone was cleared away by whoever took the number.
        if (!hasReason(error, 'EEXIST', 'ENOENT')) throw error
        return undefined
      } finally {
        await this.clearUpTo(number)
      }
    })
  }

  hold(incarnation: string): Promise<() => Promise<void>> {
    const { port, path, above } = this.options
    return onMedium('holding an incarnation', async () => {
      await ensureFolder(port, path, above)
      const name = lockName(incarnation)
      const hold = (await port.locks?.hold(path, name)) ?? { kind: 'unsupported' as const }
      if (hold.kind !== 'held')
        throw refusal('unavailable', `no name that the kernel frees can be held here: ${hold.kind}`)
      if (port.hasModes) await cleanUp(() => port.chmod(join(path, name), 0o600))
      return hold.release
    })
  }

  isHeld(incarnation: string): Promise<boolean> {
    const { port, path } = this.options
    return onMedium('asking for an incarnation', async () => {
      if (!port.locks) throw refusal('unavailable', 'nothing here tells whether an incarnation lives')
      await refuseOpenFolder(port, path)
      return port.locks.isHeld(path, lockName(incarnation))
    })
  }

  /** The socket's file outlives a holder that was killed. */
  forget(incarnation: string): Promise<void> {
    const { port, path } = this.options
    return cleanUp(() => port.unlink(join(path, lockName(incarnation))))
  }

  pause(): Promise<void> {
    return this.options.port.pause(pauseMs)
  }

  /** Files that were to take a number which is taken. */
  private async clearUpTo(number: number): Promise<void> {
    const { port, path } = this.options
    await cleanUp(async () => {
      for (const name of await port.readdir(path)) {
        const passing = /^tmp-(\d+)-/.exec(name)?.[1]
        if (passing !== undefined && Number(passing) <= number)
          await cleanUp(() => port.unlink(join(path, name)))
      }
    })
  }

  private fileOf(number: number): string {
    return join(this.options.path, `${spell(number)}.jsonl`)
  }
}

/** Appends lines. After a failure nothing more is written: what reached the disk is not known. */
class FileAuditWriter implements AuditWriter {
  private isBroken = false
  private offset: number
  private readonly sizeBytesMax: number

  constructor(
    private readonly file: PortFile,
    { offset, sizeBytesMax }: { readonly offset: number; readonly sizeBytesMax: number },
  ) {
    this.offset = offset
    this.sizeBytesMax = sizeBytesMax
  }

  async append(line: string, { isLast } = { isLast: false }): Promise<void> {
    const bytes = Buffer.from(line)
    if (this.isBroken)
      throw refusal('unavailable', 'an earlier entry of this incarnation could not be written')
    if (!isLast && this.offset + bytes.length > this.sizeBytesMax)
      throw refusal('too-many', `an audit file of ${this.sizeBytesMax} bytes is full; open a new incarnation`)
    try {
      await onMedium('writing an audit entry', async () => {
        await writeAll(this.file, bytes, this.offset)
        await this.file.sync()
      })
      this.offset += bytes.length
    } catch (error) {
      this.isBroken = true
      throw error
    }
  }

  close(): Promise<void> {
    // After a failure that one is the one to report.
    if (this.isBroken) return cleanUp(() => this.file.close())
    return onMedium('closing an audit file', () => this.file.close())
  }
}

/** An incarnation's id is ours, and yet no path. */
function lockName(incarnation: string): string {
  return `lock-${incarnation.toLowerCase().replace(/[^0-9a-f-]/g, '')}`
}
