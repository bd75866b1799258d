import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { JournalStorage, folderName, systemPort } from '@tidemark/session-persistence/journal'
import type { StoredBatch } from '@tidemark/session-persistence'

export const folderOf = (root: string, id: string): string => join(root, 'sessions', folderName(id))

/** A session's segments, oldest first: name and lines. */
export function segmentsOf(root: string, id: string): { name: string; path: string; lines: string[] }[] {
  const folder = folderOf(root, id)
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .map((name) => ({
      name,
      path: join(folder, name),
      lines: readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1),
    }))
}

/** The event lines of a session, oldest first. */
export function eventLines(root: string, id: string): string[] {
  return segmentsOf(root, id).flatMap(({ lines }) => lines.filter((line) => line.startsWith('{"seq":')))
}

/** A digest of the log that is stored of a session: not of its head, which a living writer renews. */
export function hashOf(root: string, id: string): string {
  const hash = createHash('sha256')
  for (const { name, path } of segmentsOf(root, id)) hash.update(name).update(readFileSync(path))
  return hash.digest('hex')
}

/** Reads a session as another process would. */
export async function readStored(root: string, id: string): Promise<StoredBatch[]> {
  const storage = new JournalStorage({ root, port: systemPort })
  const batches: StoredBatch[] = []
  for await (const batch of (await storage.read(id)).batches) batches.push(batch)
  return batches
}

export async function storedSeqs(root: string, id: string): Promise<number[]> {
  return (await readStored(root, id)).flatMap(({ events }) => events.map(({ seq }) => seq))
}
