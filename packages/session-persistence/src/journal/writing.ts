import { SessionError } from '@tidemark/session-core'
import { failure } from './failure.ts'
import { isSystemFailure, type PortFile } from './port.ts'

/** Writes that take nothing, over and over, are a disk that is full without saying so. */
const emptyWritesMax = 3

/** Writes all of the bytes: one write may take fewer than it was given, without an error. */
export async function writeAll(file: PortFile, bytes: Uint8Array, offset: number): Promise<void> {
  let written = 0
  for (let empty = 0; written < bytes.length;) {
    const countBytes = await file.write(bytes.subarray(written), offset + written)
    written += countBytes
    empty = countBytes === 0 ? empty + 1 : 0
    if (empty < emptyWritesMax) continue
    throw new SessionError(
      'STORAGE_FAILED',
      `the medium took ${written} of ${bytes.length} bytes, and no more`,
    )
  }
}

/** Closes a file on the way out of a failure, which is the one to report. */
export async function closeAfterFailure(file: PortFile): Promise<void> {
  await cleanUp(() => file.close())
}

/** Does what can be done without: what the system refuses here is not reported. */
export async function cleanUp(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!isSystemFailure(error)) throw error
  }
}

/** Whatever fails, the rest is done; the first failure is thrown. */
export async function allInTurn(what: string, works: readonly (() => Promise<void>)[]): Promise<void> {
  const causes: unknown[] = []
  for (const work of works) {
    try {
      await work()
    } catch (cause) {
      causes.push(cause) // thrown below
    }
  }
  if (causes.length > 0) throw failure(what, causes[0])
}
