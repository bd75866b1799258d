import type { SessionHeader } from '@tidemark/session-core'
import { isCorrupt } from '../refused-read.ts'
import type { SalvagedLog, SalvagedRecord } from '../storage.ts'
import { failure } from './failure.ts'
import { linesIn } from './found-lines.ts'
import { findParts, type Part } from './parts.ts'
import { SalvageScan } from './salvage-scan.ts'
import { openSegment, readPieces, type SessionFolder } from './segment-file.ts'
import { batchSizeBytesMax } from './size.ts'

/** Whatever can still be read of a session, whatever state its files are in. Changes nothing. */
export async function salvageSession(folder: SessionFolder): Promise<SalvagedLog> {
  const parts = await findParts(folder)
  const session: SessionHeader | undefined = parts.find(({ found }) => found)?.found?.header.session
  return { ...(session && { header: session }), records: recordsIn(folder, parts) }
}

/** A later segment may begin with a batch of the one before it: of two copies the one that is proven counts. */
async function* recordsIn(
  folder: SessionFolder,
  parts: readonly Part[],
): AsyncGenerator<SalvagedRecord, void> {
  let lastSeq = -1
  let held: SalvagedRecord[] = []
  try {
    for (const [index, part] of parts.entries()) {
      const firstOfNext = parts[index + 1]?.found?.header.firstSeq ?? Infinity
      const later: SalvagedRecord[] = []
      for await (const record of merged(held, recordsOf(folder, part, lastSeq))) {
        const { seq } = record.event
        if (seq >= firstOfNext) later.push(record)
        else if (seq > lastSeq) {
          lastSeq = seq
          yield record
        }
      }
      held = later
    }
  } catch (error) {
    throw failure('salvaging a session', error)
  }
}

/** Both in order of seq. */
async function* merged(
  older: readonly SalvagedRecord[],
  newer: AsyncIterable<SalvagedRecord>,
): AsyncGenerator<SalvagedRecord, void> {
  const rest = [...older].reverse()
  for await (const record of newer) {
    const { seq } = record.event
    for (let next = rest.at(-1); next && next.event.seq < seq; next = rest.at(-1)) {
      rest.pop()
      yield next
    }
    const twin = rest.at(-1)?.event.seq === seq ? rest.pop() : undefined
    yield twin?.isProven ? twin : record
  }
  yield* rest.reverse()
}

async function* recordsOf(
  folder: SessionFolder,
  part: Part,
  lastSeq: number,
): AsyncGenerator<SalvagedRecord, void> {
  const scan = new SalvageScan(part, lastSeq)
  const { file, stat } = await openSegment(folder, part.name.name)
  try {
    const pieces = readPieces(file, 0, stat.sizeBytes)
    for await (const line of linesIn(pieces, batchSizeBytesMax)) yield* scan.take(line)
  } catch (error) {
    if (!isCorrupt(error)) throw error
    // A pack that is damaged from here on. What comes after it in the log is in other segments.
  } finally {
    await file.close()
  }
  yield* scan.finish()
}
