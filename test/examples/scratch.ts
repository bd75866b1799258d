import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

export const repository = fileURLToPath(new URL('../..', import.meta.url))
export const sample = join(repository, 'examples', 'transcripts', 'berths.jsonl')

const shared = join(repository, '..', 'shared', 'data')

/** The folder of real transcripts, where this clone has one beside it. */
export const sharedData = existsSync(shared) ? shared : undefined
if (sharedData === undefined)
  console.info('skipped: what needs real transcripts, since ../shared/data is not there')

/** A folder that is removed when the test is over. */
export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-examples-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A file with this content, in a folder of its own. */
export function fileWith(content: string | Uint8Array, name = 'session.jsonl'): string {
  const file = join(scratchFolder(), name)
  writeFileSync(file, content)
  return file
}

/** JSON Lines of these records. */
export function linesOf(...records: readonly unknown[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('')
}
