import { SessionError, refuseId, type SessionHeader } from '@tidemark/session-core'
import { RecentBatches, refuseBrokenSeed } from '../acceptance.ts'
import { chainDigest, sha256 } from '../digest.ts'
import { decodeEvent, encodeEvent, linesOf, type EncodedEvent } from '../encoded-event.ts'
import type * as seam from '../storage.ts'
import { unknownSession } from '../unknown-session.ts'
import { foldActivity, noActivity, pageOf, summaryOf, type SummaryPage } from '../summary.ts'
import { MemoryLease, memoryCapabilities } from './lease.ts'
import { batchOf, refuseUnheld, tailOf, type MemoryBatch, type MemoryLog } from './log.ts'

/**
 * Sessions that last as long as this object: for tests, and for hosts that want sessions without files. It
 * keeps JSON text and not objects, so that what comes back is what any storage would give back.
 */
export class MemoryStorage implements seam.SessionStorage {
  readonly capabilities = memoryCapabilities
  private readonly logs = new Map<string, MemoryLog>()
  private isClosed = false

  async create(header: SessionHeader, { claim, seed = [] }: seam.CreateTerms): Promise<seam.Lease> {
    this.refuse(header.id)
    return this.bear(header, claim, [...seed])
  }

  async acquire(id: string, { claim, receipt }: seam.AcquireTerms): Promise<seam.Lease> {
    const log = this.log(id)
    refuseUnheld(log, receipt)
    log.epoch += 1
    return new MemoryLease(log, claim, () => this.logs.get(id) === log && !this.isClosed)
  }

  async read(
    id: string,
    { from = 0, through = Infinity, receipt }: seam.ReadTerms = {},
  ): Promise<seam.StoredLog> {
    const log = this.log(id)
    refuseUnheld(log, receipt && receipt.seq <= through ? receipt : undefined)
    const batches = log.batches.filter(
      ({ texts, tail }) => tail.seq - texts.length < through || tail.seq <= through,
    )
    return { header: log.header, batches: decoded(batches, { from, through }) }
  }

  async fork(
    { id, through, receipt }: seam.ForkSource,
    header: SessionHeader,
    claim: seam.Claim,
  ): Promise<seam.Lease> {
    refuseUnheld(this.log(id), receipt)
    const texts = this.log(id).batches.flatMap((batch) => batch.texts)
    this.refuse(header.id)
    if (!Number.isInteger(through) || through < -1 || through >= texts.length) {
      throw new SessionError('INVALID_SEQ', `${id}: ends at seq ${texts.length - 1}, before ${through}`)
    }
    return this.bear(
      header,
      claim,
      texts.slice(0, through + 1).map((text) => encodeEvent(decodeEvent(text))),
    )
  }

  async list({ after, countMax }: seam.ListTerms): Promise<SummaryPage> {
    if (this.isClosed) throw closed()
    const summaries = [...this.logs.values()].map(({ header, batches }) => {
      const texts = batches.flatMap((batch) => batch.texts)
      return summaryOf(header, texts.map(decodeEvent).reduce(foldActivity, noActivity))
    })
    return pageOf(summaries, after, countMax)
  }

  async remove(id: string): Promise<void> {
    this.log(id)
    this.logs.delete(id)
  }

  async verify(id: string): Promise<seam.Verdict> {
    const tail = tailOf(this.log(id))
    return { kind: 'intact', tail, durable: tail.seq }
  }

  async close(): Promise<void> {
    this.isClosed = true
  }

  private bear(header: SessionHeader, claim: seam.Claim, seed: readonly EncodedEvent[]): seam.Lease {
    const { id } = header
    if (this.logs.has(id))
      throw new SessionError('EXISTS', 'there is a session with this id already', { sessionId: id })
    refuseBrokenSeed(id, seed, 0)
    const kept = JSON.parse(JSON.stringify(header)) as SessionHeader
    const empty = { seq: -1, digest: sha256(globalThis.crypto.randomUUID()) }
    const log: MemoryLog = {
      header: kept,
      batches: [batchOf({ epoch: 1, claim, events: [] }, empty)],
      recent: new RecentBatches(),
      epoch: 1,
    }
    if (seed.length > 0) {
      const tail = { seq: seed.length - 1, digest: chainDigest(empty.digest, [linesOf(seed)]) }
      log.batches.push(batchOf({ epoch: 1, claim, events: seed }, tail))
    }
    this.logs.set(id, log)
    return new MemoryLease(log, claim, () => this.logs.get(id) === log && !this.isClosed)
  }

  private log(id: string): MemoryLog {
    this.refuse(id)
    const log = this.logs.get(id)
    if (log) return log
    throw unknownSession(id)
  }

  private refuse(id: string): void {
    refuseId(id)
    if (this.isClosed) throw closed()
  }
}

async function* decoded(
  batches: readonly MemoryBatch[],
  { from, through }: { from: number; through: number },
): AsyncGenerator<seam.StoredBatch, void> {
  for (const { epoch, writer, texts, tail } of batches) {
    const events = texts.map(decodeEvent).filter(({ seq }) => seq >= from && seq <= through)
    // What it acknowledges it holds: there is no medium that could have less.
    const sizeBytes = texts.reduce((sum, text) => sum + text.length, 0)
    yield { epoch, writer, events, tail, isDurable: true, sizeBytes }
  }
}

function closed(): SessionError {
  return new SessionError('DISPOSED', 'this storage is closed')
}
