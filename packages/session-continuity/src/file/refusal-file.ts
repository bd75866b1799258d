import { join } from 'node:path'
import { refusal } from '../refusal.ts'
import type { Refused } from '../refusals.ts'
import type { RefusalSink } from '../store.ts'
import { spell } from './cell.ts'
import { hasReason, type ContinuityPort, type PortFile } from './port.ts'
import { cleanUp, createFile, ensureRoot, namesIn, writeAll } from './private-file.ts'

/** Bytes of one file of refused attempts. */
export const refusalFileSizeBytesMax = 65_536

/** Files that stay whatever comes after them, and the newest ones besides. */
export const firstFilesMax = 16
export const lastFilesMax = 16

const triesMax = 64

export interface RefusalFilesOptions {
  readonly port: ContinuityPort
  readonly path: string
}

/**
 * Refused attempts in files of their own, each of one process. The first files stay, so that a flood cannot push out
 * what came before it; the last ones make room for each other.
 */
export class RefusalFiles implements RefusalSink {
  private current: { readonly file: PortFile; offset: number } | undefined

  constructor(private readonly options: RefusalFilesOptions) {}

  async write(refused: readonly Refused[]): Promise<void> {
    for (const each of refused) {
      const bytes = Buffer.from(`${JSON.stringify(each)}\n`)
      if (this.current && this.current.offset + bytes.length > refusalFileSizeBytesMax) await this.close()
      this.current ??= { file: await this.next(), offset: 0 }
      // A failure leaves a line half written; the next one begins in its place.
      await writeAll(this.current.file, bytes, this.current.offset)
      this.current.offset += bytes.length
    }
    await this.current?.file.sync()
  }

  async close(): Promise<void> {
    const { current } = this
    this.current = undefined
    if (current) await cleanUp(() => current.file.close())
  }

  private async next(): Promise<PortFile> {
    const { port, path } = this.options
    await ensureRoot(port, path)
    for (let tries = 0; tries < triesMax; tries++) {
      const numbers = (await namesIn(port, path))
        .flatMap((name) => /^(\d{6,15})\.jsonl$/.exec(name)?.[1] ?? [])
        .map(Number)
        .sort((a, b) => a - b)
      const spent = numbers.slice(firstFilesMax, Math.max(firstFilesMax, numbers.length - lastFilesMax + 1))
      for (const number of spent) await cleanUp(() => port.unlink(this.fileOf(number)))
      try {
        const file = await createFile(port, this.fileOf((numbers.at(-1) ?? 0) + 1))
        await port.syncFolder(path)
        return file
      } catch (error) {
        if (!hasReason(error, 'EEXIST')) throw error // another process was faster
      }
    }
    throw refusal('contended', 'others take every file of refused attempts')
  }

  private fileOf(number: number): string {
    return join(this.options.path, `${spell(number)}.jsonl`)
  }
}
