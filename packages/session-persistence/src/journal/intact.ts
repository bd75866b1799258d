import { isCorrupt } from '../refused-read.ts'
import { readChainThrough } from './chain-reader.ts'
import { findChain, soundChains, type Chain } from './chain.ts'
import { findParts } from './parts.ts'
import type { SessionFolder } from './segment-file.ts'

/** A chain of a damaged log. */
export interface SoundChain {
  readonly chain: Chain
  /** The last seq that the log can have of it: later headers say so. */
  readonly through: number
  /** Whether that is sure, and so what the chain holds up to there is the log's. */
  readonly isSealed: boolean
}

/** The chains in a damaged folder, newest first. What a writer appended after others went on is in none of them. */
export async function* boundedChains(folder: SessionFolder): AsyncGenerator<SoundChain, void> {
  const parts = new Map((await findParts(folder)).map((part) => [part.name.name, part]))
  for await (const chain of soundChains(folder)) {
    const part = parts.get(chain.links.at(-1)?.name ?? '')
    if (part) yield { chain, through: part.before - 1, isSealed: part.isSealed }
  }
}

interface Wanted {
  /** The chain as it was a moment ago. */
  readonly known?: Chain | undefined
  readonly through?: number | undefined
}

/** As `findChain`. Where a later segment is damaged, and `through` lies before that, the chain up to there. */
export async function findChainThrough(folder: SessionFolder, { known, through }: Wanted): Promise<Chain> {
  try {
    return await findChain(folder, known)
  } catch (error) {
    const chain = isCorrupt(error) && through !== undefined && (await soundThrough(folder, through))
    if (chain) return chain
    throw error
  }
}

async function soundThrough(folder: SessionFolder, through: number): Promise<Chain | undefined> {
  try {
    for await (const { chain, isSealed, through: end } of boundedChains(folder)) {
      if (!isSealed || through > end) continue
      const { end: found } = await readChainThrough(folder, { chain, through })
      if (found.tail.seq >= through) return chain
    }
  } catch (error) {
    if (!isCorrupt(error)) throw error // what is wanted is damaged, too
  }
  return undefined
}
