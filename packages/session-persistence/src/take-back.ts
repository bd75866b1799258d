import { isSessionError } from '@tidemark/session-core'
import type { Claim, Lease, SessionStorage } from './storage.ts'

/**
 * Takes away what was made for a session that nobody was given, so that its id is free again. It is claimed first: who
 * has come to it meanwhile, or has written to it, keeps it.
 */
export async function takeBack(storage: SessionStorage, made: Lease, claim: Claim): Promise<void> {
  const { header, tail } = made
  const lease = await claimed(storage, header.id, claim)
  if (!lease) return
  try {
    const isUntouched = lease.tail.seq === tail.seq && lease.tail.digest === tail.digest
    if (isUntouched) await storage.remove(header.id)
  } finally {
    await lease.release()
  }
}

async function claimed(storage: SessionStorage, id: string, claim: Claim): Promise<Lease | undefined> {
  try {
    return await storage.acquire(id, { claim })
  } catch (error) {
    if (isSessionError(error) && ['NOT_FOUND', 'LOCKED', 'FENCED'].includes(error.code)) return undefined
    throw error
  }
}
