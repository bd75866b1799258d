import type { CompactionResult, NothingReason } from './result.ts'

/** The answer of a call that writes no event. */
export async function nothing(reason: NothingReason): Promise<CompactionResult> {
  return { outcome: 'nothing', reason }
}

/** The promise of the run itself, whose rejection is looked at already: a caller may look late, or never. */
export function settled(begin: () => Promise<CompactionResult>): Promise<CompactionResult> {
  try {
    return begin()
  } catch (error) {
    return rejected(error)
  }
}

async function rejected(error: unknown): Promise<never> {
  throw error
}
