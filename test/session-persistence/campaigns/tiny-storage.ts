import { createHash } from 'node:crypto'
import { SessionError, isSessionError, refuseId, type SessionHeader } from '@tidemark/session-core'
import {
  RecentBatches,
  chainDigest,
  decideAcceptance,
  decodeEvent,
  encodeEvent,
  foldActivity,
  linesOf,
  noActivity,
  pageOf,
  refuseBrokenSeed,
  summaryOf,
  type EncodedEvent,
  type SessionSummary,
} from '@tidemark/session-persistence'
import type * as seam from '@tidemark/session-persistence'
import type { JournalPort, PortFile } from '@tidemark/session-persistence/journal'

/** What it can be made to do wrong. */
export type Flaw =
  | 'acknowledges before it syncs'
  | 'does not look'
  | 'does not sync the folder'
  | 'does not sync the root at a claim'
  | 'ignores the head'
  | 'counts on whole writes'
  | 'gives half a batch'
  | 'takes zeros for damage'
  | 'closes nothing'

interface Batch {
  readonly id: string
  readonly epoch: number
  readonly writer: seam.Writer
  readonly texts: readonly string[]
  readonly tail: seam.Tail
}

/** The first record of an epoch: everything before it. */
interface First {
  readonly epoch: number
  readonly header: SessionHeader
  readonly batches: readonly Batch[]
}

interface Log {
  readonly header: SessionHeader
  readonly batches: readonly Batch[]
  /** Batches that are proven. */
  readonly provenCount: number
  readonly epochMax: number
}

const root = '/tiny'
const slotSizeBytes = 128
const capabilities: seam.StorageCapabilities = {
  isShared: true,
  isDurable: true,
  hasSnapshots: false,
  eventSizeBytesMax: 1_000_000,
  batchSizeBytesMax: 1_000_000,
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const seal = (value: unknown): string => `${sha256(JSON.stringify(value))} ${JSON.stringify(value)}\n`
const reasonOf = (error: unknown): unknown => (error as { code?: unknown }).code

function unseal(line: string): unknown {
  return sha256(line.slice(65)) === line.slice(0, 64) ? JSON.parse(line.slice(65)) : undefined
}

function corrupt(id: string, reason: string): SessionError {
  return new SessionError('CORRUPT', `${id}: ${reason}; nothing was changed`, { sessionId: id })
}

/**
 * The smallest storage that keeps the contract on a disk that crashes: one file an epoch, which begins with all
 * that was before it, and a head that is synced before each acknowledgement. Costly, and easy to follow.
 */
export class TinyStorage implements seam.SessionStorage {
  readonly capabilities = capabilities
  private readonly leases = new Set<TinyLease>()
  private isClosed = false

  constructor(
    readonly port: JournalPort,
    readonly flaw?: Flaw,
  ) {}

  create(header: SessionHeader, { claim, seed = [] }: seam.CreateTerms): Promise<seam.Lease> {
    return this.perform(header.id, async () => {
      const events = [...seed]
      refuseBrokenSeed(header.id, events, 0)
      return this.bear(header, events.length > 0 ? [events] : [], claim)
    })
  }

  acquire(id: string, { claim, receipt }: seam.AcquireTerms): Promise<seam.Lease> {
    return this.perform(id, async () => {
      const path = this.pathOf(id)
      refuseUnmet(await this.load(id), id, receipt)
      const epoch = (await this.epochs(id, path)).reduce((highest, each) => Math.max(highest, each), 0) + 1
      const file = await this.createFile(`${path}/e${epoch}`, id)
      try {
        await file.sync()
        await this.syncFolder(path)
        // Whoever created the session may have stopped before its name was durable.
        if (this.flaw !== 'does not sync the root at a claim') await this.syncFolder(root)
        const log = await this.load(id)
        if (log.epochMax > epoch) throw fenced(id)
        return await this.begin({ id, path, epoch, file }, log, claim)
      } catch (error) {
        await file.close().catch(() => undefined)
        throw error
      }
    })
  }

  read(id: string, terms: seam.ReadTerms = {}): Promise<seam.StoredLog> {
    return this.perform(id, async () => {
      const log = await this.load(id)
      const { receipt, through = Infinity } = terms
      if (receipt && receipt.seq <= through) refuseUnmet(log, id, receipt)
      return { header: log.header, batches: given(log, terms) }
    })
  }

  fork({ id, through }: seam.ForkSource, header: SessionHeader, claim: seam.Claim): Promise<seam.Lease> {
    return this.perform(header.id, async () => {
      refuseId(id)
      const { batches } = await this.load(id)
      const seqMax = batches.at(-1)?.tail.seq ?? -1
      if (!Number.isInteger(through) || through < -1 || through > seqMax)
        throw new SessionError('INVALID_SEQ', `${id}: ends at seq ${seqMax}`)
      const events = batches.map(({ texts }) =>
        texts.map(encodedText).filter(({ event }) => event.seq <= through),
      )
      return this.bear(
        header,
        events.filter(({ length }) => length > 0),
        claim,
      )
    })
  }

  async list({ after, countMax }: seam.ListTerms): Promise<seam.SummaryPage> {
    this.refuseClosed()
    return guarded(async () => {
      const summaries: SessionSummary[] = []
      for (const name of await this.names(root)) {
        if (name.startsWith('s'))
          summaries.push(await this.summarize(Buffer.from(name.slice(1), 'hex').toString()))
      }
      return pageOf(summaries, after, countMax)
    })
  }

  remove(id: string): Promise<void> {
    return this.perform(id, async () => {
      const aside = `${root}/gone${this.port.random(8)}`
      await this.port.rename(this.pathOf(id), aside).catch((error: unknown) => {
        throw reasonOf(error) === 'ENOENT' ? missing(id) : error
      })
      await this.syncFolder(root)
      for (const name of await this.port.readdir(aside)) await this.port.unlink(`${aside}/${name}`)
      await this.port.rmdir(aside)
    })
  }

  verify(id: string): Promise<seam.Verdict> {
    return this.perform(id, async () => {
      try {
        const { batches, provenCount } = await this.load(id)
        const tail = batches.at(-1)!.tail
        return { kind: 'intact', tail, durable: batches[provenCount - 1]?.tail.seq ?? -1 }
      } catch (error) {
        if (!isSessionError(error) || error.code !== 'CORRUPT') throw error
        return { kind: 'damaged', code: error.code, reason: error.message }
      }
    })
  }

  async close(): Promise<void> {
    this.isClosed = true
    const released = await Promise.allSettled([...this.leases].map((lease) => lease.release()))
    for (const each of released) if (each.status === 'rejected') throw each.reason
  }

  async look({ id, path, epoch, identity }: Pick<Own, 'id' | 'path' | 'epoch' | 'identity'>): Promise<void> {
    if (this.flaw === 'does not look') return
    try {
      const names = await this.port.readdir(path)
      if (Math.max(...names.map(epochIn)) > epoch) throw fenced(id)
      if ((await this.port.stat(`${path}/e${epoch}`)).identity !== identity) throw fenced(id)
    } catch (error) {
      throw reasonOf(error) === 'ENOENT' ? fenced(id) : error
    }
  }

  async writeAll(file: PortFile, bytes: Buffer, offset: number): Promise<void> {
    for (let done = 0, empty = 0; done < bytes.length;) {
      const count = await file.write(bytes.subarray(done), offset + done)
      done += this.flaw === 'counts on whole writes' ? bytes.length : count
      empty = count === 0 ? empty + 1 : 0
      if (empty > 2) throw new SessionError('STORAGE_FAILED', 'the disk takes nothing more')
    }
  }

  private async bear(
    header: SessionHeader,
    seed: readonly (readonly EncodedEvent[])[],
    claim: seam.Claim,
  ): Promise<seam.Lease> {
    const { port } = this
    const { id } = header
    await this.ensureRoot()
    const path = this.pathOf(id)
    if ((await this.names(root)).includes(path.slice(root.length + 1))) throw taken(id)
    const building = `${root}/new${port.random(8)}`
    await port.mkdir(building)
    const file = await this.createFile(`${building}/e1`, id)
    try {
      const batches: Batch[] = []
      let tail: seam.Tail = { seq: -1, digest: sha256(port.random(16)) }
      const writer = await writerOf(port, claim)
      for (const events of [[], ...seed]) {
        tail = { seq: tail.seq + events.length, digest: chainDigest(tail.digest, [linesOf(events)]) }
        batches.push({ id: port.random(8), epoch: 1, writer, texts: events.map(({ json }) => json), tail })
      }
      const { identity } = await file.stat()
      const first: First = { epoch: 1, header: JSON.parse(JSON.stringify(header)), batches }
      const bytes = Buffer.from(seal(first))
      await this.writeAll(file, bytes, 0)
      await file.sync()
      const head = await this.createFile(`${building}/h1`, id)
      try {
        await this.writeHead(head, 1)
        await this.syncFolder(building)
        await port.rename(building, path).catch((error: unknown) => {
          throw reasonOf(error) === 'ENOTEMPTY' ? taken(id) : error
        })
        await this.syncFolder(root)
      } catch (error) {
        await head.close().catch(() => undefined)
        throw error
      }
      return this.lease({ id, path, epoch: 1, file, head, identity, writer }, first, bytes.length)
    } catch (error) {
      await file.close().catch(() => undefined)
      throw error
    }
  }

  private async begin(
    { id, path, epoch, file }: { id: string; path: string; epoch: number; file: PortFile },
    { header, batches }: Log,
    claim: seam.Claim,
  ): Promise<seam.Lease> {
    const writer = await writerOf(this.port, claim)
    const { identity } = await file.stat()
    const first: First = { epoch, header, batches }
    const bytes = Buffer.from(seal(first))
    await this.writeAll(file, bytes, 0)
    await file.sync()
    await this.look({ id, path, epoch, identity })
    const head = await this.createFile(`${path}/h${epoch}`, id)
    try {
      await this.writeHead(head, 1)
      await this.syncFolder(path)
    } catch (error) {
      await head.close().catch(() => undefined)
      throw error
    }
    return this.lease({ id, path, epoch, file, head, identity, writer }, first, bytes.length)
  }

  async writeHead(head: PortFile, count: number): Promise<void> {
    await this.writeAll(head, Buffer.from(seal({ count }).padEnd(slotSizeBytes)), (count % 2) * slotSizeBytes)
    await head.sync()
  }

  private lease(own: Own, first: First, offset: number): TinyLease {
    const lease = new TinyLease(this, own, first, offset)
    this.leases.add(lease)
    return lease
  }

  private async load(id: string): Promise<Log> {
    const path = this.pathOf(id)
    const epochs = await this.epochs(id, path)
    for (const epoch of epochs.sort((a, b) => b - a)) {
      const head = this.flaw === 'ignores the head' ? 0 : await this.readHead(`${path}/h${epoch}`)
      const content = await this.readFile(`${path}/e${epoch}`)
      const found = content && recordsIn(content, this.flaw)
      const [first, ...rest] = found?.records ?? []
      if (first === undefined) {
        if (head > 0) throw corrupt(id, `epoch ${epoch} was begun and is damaged`)
        if (content?.includes(10) && !content.includes(0))
          throw corrupt(id, `epoch ${epoch} has no first record`)
        if (
          content &&
          content.length > 0 &&
          !/^[0-9a-f]/.test(content.toString('latin1')) &&
          !content.includes(0)
        )
          throw corrupt(id, `epoch ${epoch} is no epoch`)
        if (this.flaw === 'takes zeros for damage' && content?.includes(0)) throw corrupt(id, 'zeros')
        continue
      }
      if (first.epoch !== epoch || (first as First).header.id !== id)
        throw corrupt(id, `epoch ${epoch} is another`)
      if (found!.records.length < head) throw corrupt(id, `${head} records were durable in epoch ${epoch}`)
      const batches = [...(first as First).batches, ...(rest as Batch[])]
      // Until its head says so, nothing shows that even the first record was synced.
      const provenCount = head > 0 ? (first as First).batches.length + head - 1 : 0
      return { header: (first as First).header, batches, provenCount, epochMax: epochs[0] ?? 0 }
    }
    throw epochs.length > 0 ? corrupt(id, 'no epoch was begun') : missing(id)
  }

  private async epochs(id: string, path: string): Promise<number[]> {
    try {
      return [...new Set((await this.port.readdir(path)).map(epochIn).filter((epoch) => epoch > 0))]
    } catch (error) {
      throw reasonOf(error) === 'ENOENT' ? missing(id) : error
    }
  }

  private async readHead(path: string): Promise<number> {
    const content = await this.readFile(path)
    const slots = content ? [content.subarray(0, slotSizeBytes), content.subarray(slotSizeBytes)] : []
    const lines = slots.map((slot) => slot.toString('latin1').split('\n')[0]!)
    const counts = lines.map((line) => (unseal(line) as { count: number } | undefined)?.count ?? 0)
    return Math.max(0, ...counts)
  }

  private async readFile(path: string): Promise<Buffer | undefined> {
    try {
      const file = await this.port.open(path, 'read')
      try {
        const content = Buffer.alloc((await file.stat()).sizeBytes)
        await file.read(content, 0)
        return content
      } finally {
        if (this.flaw !== 'closes nothing') await file.close()
      }
    } catch (error) {
      if (reasonOf(error) !== 'ENOENT') throw error
      return undefined
    }
  }

  private async summarize(id: string): Promise<SessionSummary> {
    try {
      const { header, batches } = await this.load(id)
      const events = batches.flatMap(({ texts }) => texts).map(decodeEvent)
      return summaryOf(header, events.reduce(foldActivity, noActivity))
    } catch (error) {
      if (!isSessionError(error)) throw error
      return { id, status: 'damaged', reason: error.message }
    }
  }

  private async createFile(path: string, id: string): Promise<PortFile> {
    try {
      return await this.port.open(path, 'create')
    } catch (error) {
      throw reasonOf(error) === 'EEXIST' ? fenced(id) : error
    }
  }

  private async ensureRoot(): Promise<void> {
    await this.port.mkdir(root).catch((error: unknown) => {
      if (reasonOf(error) !== 'EEXIST') throw error
    })
    await this.syncFolder('/')
  }

  private async names(path: string): Promise<readonly string[]> {
    try {
      return await this.port.readdir(path)
    } catch (error) {
      if (reasonOf(error) !== 'ENOENT') throw error
      return []
    }
  }

  private async syncFolder(path: string): Promise<void> {
    if (this.flaw !== 'does not sync the folder') await this.port.syncFolder(path)
  }

  private pathOf(id: string): string {
    return `${root}/s${Buffer.from(id).toString('hex')}`
  }

  private async perform<T>(id: string, work: () => Promise<T>): Promise<T> {
    refuseId(id)
    this.refuseClosed()
    return guarded(work)
  }

  private refuseClosed(): void {
    if (this.isClosed) throw new SessionError('DISPOSED', 'this storage is closed')
  }
}

interface Own {
  readonly id: string
  readonly path: string
  readonly epoch: number
  readonly identity: string
  readonly file: PortFile
  readonly head: PortFile
  readonly writer: seam.Writer
}

class TinyLease implements seam.Lease {
  readonly epoch: number
  readonly header: SessionHeader
  tail: seam.Tail
  private over: SessionError | undefined
  private count = 1
  private inFlight: Promise<unknown> = Promise.resolve()
  private released: Promise<void> | undefined
  private readonly recent = new RecentBatches()

  constructor(
    private readonly storage: TinyStorage,
    private readonly own: Own,
    { header, batches }: First,
    private offset: number,
  ) {
    this.epoch = own.epoch
    this.header = header
    let before = batches[0]!.tail
    for (const { id, texts, tail } of batches) {
      if (texts.length > 0) this.recent.add(id, { before, after: tail })
      before = tail
    }
    this.tail = before
  }

  append(batch: readonly EncodedEvent[], terms: seam.AppendTerms): Promise<seam.Receipt> {
    const appended = this.inFlight.then(() => this.appendNext(batch, terms))
    this.inFlight = appended.catch(() => undefined)
    return appended
  }

  release(): Promise<void> {
    this.released ??= this.inFlight.then(async () => {
      this.over ??= new SessionError('DISPOSED', 'this lease was released')
      const closed = await Promise.allSettled([this.own.file.close(), this.own.head.close()])
      for (const each of closed) if (each.status === 'rejected') throw failed(each.reason)
    })
    return this.released
  }

  private async appendNext(batch: readonly EncodedEvent[], terms: seam.AppendTerms): Promise<seam.Receipt> {
    if (this.over) throw this.over
    const { storage, own, epoch } = this
    const state = { id: own.id, epoch, tail: this.tail, recent: this.recent }
    const acceptance = decideAcceptance(state, { batch, terms }, capabilities)
    await this.attempt('STORAGE_FAILED', () => storage.look(own))
    const { tail } = acceptance
    if (acceptance.kind === 'repeat') return { tail, durable: this.tail.seq }
    const record = {
      id: terms.batchId,
      epoch,
      writer: own.writer,
      texts: batch.map(({ json }) => json),
      tail,
    }
    const bytes = Buffer.from(seal(record))
    await this.attempt('STORAGE_FAILED', () => storage.writeAll(own.file, bytes, this.offset))
    this.offset += bytes.length
    this.count += 1
    const { count } = this
    const finish = async (): Promise<void> => {
      await own.file.sync()
      await storage.look(own)
      await storage.writeHead(own.head, count)
    }
    if (storage.flaw === 'acknowledges before it syncs') void finish().catch(() => undefined)
    else await this.attempt('OUTCOME_UNKNOWN', finish)
    this.recent.add(terms.batchId, { before: this.tail, after: tail })
    this.tail = tail
    return { tail, durable: tail.seq }
  }

  private async attempt(
    code: 'STORAGE_FAILED' | 'OUTCOME_UNKNOWN',
    work: () => Promise<void>,
  ): Promise<void> {
    try {
      await work()
    } catch (cause) {
      const isFenced = isSessionError(cause) && cause.code === 'FENCED'
      const error = isFenced ? cause : new SessionError(code, `${this.own.id}: the disk failed`, { cause })
      this.over = isFenced
        ? cause
        : new SessionError('STORAGE_FAILED', 'this writer failed earlier', { cause })
      throw error
    }
  }
}

interface Records {
  readonly records: readonly (First | Batch)[]
}

/** The records up to the first one that is not whole. */
function recordsIn(content: Buffer, flaw: Flaw | undefined): Records {
  const records: (First | Batch)[] = []
  for (let from = 0; from < content.length;) {
    const lf = content.indexOf(10, from)
    const line = content.toString('utf8', from, lf === -1 ? content.length : lf)
    const record = lf === -1 ? undefined : (unseal(line) as First | Batch | undefined)
    if (record === undefined) {
      const half = flaw === 'gives half a batch' ? halfOf(line, records.at(-1)) : undefined
      return { records: half ? [...records, half] : records }
    }
    records.push(record)
    from = lf + 1
  }
  return { records }
}

/** The events of a batch that was cut short, as a careless reader finds them. */
function halfOf(line: string, before: First | Batch | undefined): Batch | undefined {
  const last = before && 'batches' in before ? before.batches.at(-1) : before
  const texts = [...line.matchAll(/"(\{\\"seq\\":(?:[^"\\]|\\.)*\})"/g)].map(
    ([text]) => JSON.parse(text) as string,
  )
  if (last === undefined || texts.length === 0) return undefined
  const tail = { seq: last.tail.seq + texts.length, digest: 'f'.repeat(64) }
  return { ...last, id: 'half', texts, tail }
}

async function* given(
  log: Log,
  { from = 0, through = Infinity, receipt }: seam.ReadTerms,
): AsyncGenerator<seam.StoredBatch, void> {
  for (const [index, { epoch, writer, texts, tail }] of log.batches.entries()) {
    const events = texts.map(decodeEvent).filter(({ seq }) => seq >= from && seq <= through)
    if (tail.seq - texts.length >= through && index > 0 && texts.length > 0) return
    const isDurable = index < log.provenCount || tail.seq <= (receipt?.seq ?? -1)
    yield { epoch, writer, events, tail, isDurable }
  }
}

/** Refuses a log that does not hold what its caller was told. */
function refuseUnmet({ batches }: Log, id: string, receipt: seam.Receipted | undefined): void {
  if (receipt === undefined) return
  const { seq, digest } = receipt
  const isMet =
    digest === undefined
      ? batches.some(({ tail }) => tail.seq >= seq)
      : batches.some(({ tail }) => tail.seq === seq && tail.digest === digest)
  if (!isMet) throw corrupt(id, `does not hold seq ${seq} as it was acknowledged`)
}

function encodedText(json: string): EncodedEvent {
  return encodeEvent(decodeEvent(json))
}

function epochIn(name: string): number {
  return Number(/^[eh](\d+)$/.exec(name)?.[1] ?? 0)
}

async function writerOf(port: JournalPort, claim: seam.Claim): Promise<seam.Writer> {
  return { ...claim, ...(await port.identity()) }
}

async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw failed(cause)
  }
}

/** What the disk failed at, as an error of ours. */
function failed(cause: unknown): unknown {
  if (isSessionError(cause) || typeof reasonOf(cause) !== 'string') return cause
  return new SessionError('STORAGE_FAILED', 'the disk failed', { cause })
}

const missing = (id: string) => new SessionError('NOT_FOUND', 'no such session', { sessionId: id })
const taken = (id: string) => new SessionError('EXISTS', 'there is one already', { sessionId: id })
const fenced = (id: string) => new SessionError('FENCED', `${id}: taken over`, { sessionId: id })
