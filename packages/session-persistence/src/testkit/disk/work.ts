/** Long enough for a caller who does not wait for a sync to tell that it is done. */
const turnsCount = 32

/** While a disk is at work, others get on. */
export async function inWork(): Promise<void> {
  for (let turn = 0; turn < turnsCount; turn++) await Promise.resolve()
}
