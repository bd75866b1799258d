import { SessionError, refuseId, type SessionHeader, type SessionRecovered } from '@tidemark/session-core'
import type { Sessions } from '@tidemark/session-core'
import { keptMeta } from './kept-meta.ts'
import type { Caller, RemoveRequest, RepairRequest, SalvageRequest } from './request.ts'
import { Salvage, type Salvaged } from './salvage.ts'
import type { Lease, SalvagedLog, Verdict } from './storage.ts'
import type { StoreAccess } from './store-access.ts'
import { asUnknown } from './stored-session.ts'

/** What an operator asks for when a log is, or may be, damaged. Nothing of it ever happens by itself. */
export class Upkeep {
  constructor(private readonly access: StoreAccess) {}

  verify(id: string, { as }: Caller): Promise<Verdict> {
    const { authorization, open, storage } = this.access
    return open.run(async () => {
      await authorization.require({ operation: 'verify', sessionId: id, as })
      return asUnknown(id, () => storage.verify(id))
    })
  }

  repair(id: string, { acceptLossAfter, force = false, as }: RepairRequest): Promise<SessionRecovered> {
    if (!Number.isInteger(acceptLossAfter) || acceptLossAfter < -1)
      throw new SessionError('INVALID_SEQ', `${id}: acceptLossAfter is the last seq to keep, or -1`)
    const { authorization, open, storage } = this.access
    return open.run(async () => {
      await authorization.require({ operation: 'repair', sessionId: id, as })
      const { repair } = storage
      if (repair === undefined) throw unable(id, 'repair')
      const terms = { claim: this.access.newClaim(), acceptLossAfter, ...(force && { force }) }
      return open.reserve(id, 'LOCKED', () => asUnknown(id, () => repair(id, terms)))
    })
  }

  remove(id: string, { force = false, as }: RemoveRequest): Promise<void> {
    const { authorization, open, storage } = this.access
    return open.run(async () => {
      await authorization.require({ operation: 'remove', sessionId: id, as })
      const remove = (): Promise<void> => asUnknown(id, () => storage.remove(id, { unlessHeld: !force }))
      return force ? remove() : open.reserve(id, 'LOCKED', remove)
    })
  }

  salvage(sessions: Sessions, id: string, request: SalvageRequest): Promise<Salvaged> {
    const { id: newId = globalThis.crypto.randomUUID(), as } = request
    refuseId(newId)
    const meta = keptMeta(request.meta)
    const { authorization, open, storage } = this.access
    return open.run(async () => {
      const childHeader = { id: newId, ...(meta && { meta }) }
      await authorization.require({ operation: 'salvage', sessionId: id, childId: newId, childHeader, as })
      const { salvage } = storage
      if (salvage === undefined) throw unable(id, 'salvage')
      return open.reserve(newId, 'EXISTS', async () => {
        const log = await asUnknown(id, () => salvage(id))
        const found = await this.collect(sessions, id, log)
        const own = sessions.newHeader({ id: newId, meta: meta ?? log.header?.meta })
        const header = salvagedHeader(own, log.header, found.mark)
        // What was lost may have been what the session is to begin with.
        const beginnings = sessions.vocabulary.beginningsOf(sessions.view(header, []), 'unreadable')
        const terms = { claim: this.access.newClaim(), seed: found.seed(header.createdAt, beginnings) }
        const lease = await storage.create(header, terms)
        await this.release(lease)
        return found.told(header)
      })
    })
  }

  private async collect(sessions: Sessions, id: string, { records, header }: SalvagedLog): Promise<Salvage> {
    const { eventSizeBytesMax } = this.access.storage.capabilities
    const isKnown = (type: string): boolean => sessions.vocabulary.event(type) !== undefined
    const found = new Salvage(id, { eventSizeBytesMax, isKnown, source: header?.salvaged })
    for await (const record of records) found.take(record)
    if (found.isEmpty) {
      const message = `${id}: no event of it can be read; nothing was created`
      throw new SessionError('CORRUPT', message, { sessionId: id, intactThrough: -1 })
    }
    return found
  }

  /** The session is there, whether or not its lease can be given back. */
  private async release(lease: Lease): Promise<void> {
    try {
      await lease.release()
    } catch (error) {
      this.access.report(error)
    }
  }
}

/** Its seqs are those of the damaged log, and so is what the header says of them. */
function salvagedHeader(
  own: SessionHeader,
  damaged: SessionHeader | undefined,
  salvaged: NonNullable<SessionHeader['salvaged']>,
): SessionHeader {
  const { parent, forkedAt } = damaged ?? {}
  return { ...own, ...(parent && { parent }), ...(forkedAt && { forkedAt }), salvaged }
}

function unable(sessionId: string, what: string): SessionError {
  return new SessionError('DISABLED', `${sessionId}: its storage has no ${what}`, { sessionId })
}
