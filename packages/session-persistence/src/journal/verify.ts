import { isSessionError } from '@tidemark/session-core'
import { isCorrupt } from '../refused-read.ts'
import type { Verdict } from '../storage.ts'
import { readChainThrough } from './chain-reader.ts'
import { besideOf } from './chain.ts'
import { failure } from './failure.ts'
import { boundedChains, type SoundChain } from './intact.ts'
import { readToEnd } from './log-reader.ts'
import type { SessionFolder } from './segment-file.ts'
import { restOf } from './stored-batches.ts'

/** Reads all of a session, and says what it found. Changes nothing. */
export async function verifySession(folder: SessionFolder, secret: string): Promise<Verdict> {
  try {
    const end = await readToEnd(folder)
    const beside = besideOf(end.chain)
    const found = {
      tail: end.tail,
      durable: Math.min(end.durable.seq, end.tail.seq),
      ...(beside.length > 0 && { beside }),
    }
    const rest = await restOf(folder, end, secret)
    return rest ? { kind: 'unfinished', ...found, rest } : { kind: 'intact', ...found }
  } catch (cause) {
    const error = failure('verifying a session', cause)
    if (!isSessionError(error) || (error.code !== 'CORRUPT' && error.code !== 'UNSUPPORTED_FORMAT'))
      throw error
    const { segment, offset, rule } = error.details
    const intactThrough = error.details.intactThrough ?? (await findIntact(folder))
    return {
      kind: 'damaged',
      code: error.code,
      reason: error.message,
      intactThrough,
      ...(segment !== undefined && { segment }),
      ...(offset !== undefined && { offset }),
      ...(typeof rule === 'string' && { rule }),
    }
  }
}

/** How far a log is whole whose chain is broken. */
async function findIntact(folder: SessionFolder): Promise<number> {
  let intactThrough = -1
  try {
    for await (const chain of boundedChains(folder))
      intactThrough = Math.max(intactThrough, await intactIn(folder, chain))
  } catch (error) {
    if (!isCorrupt(error)) throw error
    // Not even a folder with segments: there is nothing that could be intact.
  }
  return intactThrough
}

/** The end of its last whole batch that the log had. */
async function intactIn(folder: SessionFolder, { chain, through }: SoundChain): Promise<number> {
  let read = -1
  try {
    await readChainThrough(folder, { chain, through: Infinity }, ({ end: { tail } }) => {
      if (tail.seq <= through) read = tail.seq
    })
  } catch (error) {
    if (!isCorrupt(error)) throw error
  }
  return read
}
