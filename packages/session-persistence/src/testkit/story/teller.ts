import type { SessionRecovered } from '@tidemark/session-core'
import type { Claim, Lease, SessionStorage, Verdict } from '../../storage.ts'
import type { SimulatedDisk } from '../disk/simulated-disk.ts'
import { Seeded } from '../seeded.ts'
import type { Subject } from '../subject.ts'
import { Caller } from './caller.ts'
import { collect, compare, type FoundLog } from './found-log.ts'
import { compareSnapshot, snapshotAt, storedOf } from './known-snapshot.ts'
import type { KnownSession, Ledger } from './ledger.ts'
import { recoveredEvent, testEvent, textOf } from './test-event.ts'

/** Refusals after which an append may still turn out to have happened. */
const openOutcomes: readonly string[] = ['FENCED', 'OUTCOME_UNKNOWN']

export interface Told {
  readonly subject: Subject
  readonly disk: SimulatedDisk
  readonly ledger: Ledger
  readonly seed: number
}

/**
 * Uses a storage as a host does, and notes what it was told and when. Each call checks what it is told against
 * what was told before; what does not fit is a problem.
 */
export class Teller extends Caller {
  storage: SessionStorage
  readonly random: Seeded
  private readonly opened: SessionStorage[]
  /** The seqs of snapshots whose saves were acknowledged since the last crash, the newest of each session. */
  private readonly shelved = new Map<string, number>()
  private names = 0

  constructor(private readonly told: Told) {
    super(told.disk)
    this.random = Seeded.of(told.seed, 'events')
    this.storage = told.subject.open(told.disk)
    this.opened = [this.storage]
  }

  /** Goes on with a fresh storage on the same disk, as another process would. */
  reopen(): void {
    this.storage = this.told.subject.open(this.disk)
    this.opened.push(this.storage)
  }

  async create(id: string, sizes: readonly number[] = []): Promise<Lease | undefined> {
    const header = { id, createdAt: 1_000, meta: { title: id } }
    const seed = sizes.map((sizeBytes, seq) => testEvent(seq, sizeBytes, this.random))
    return this.bear({ header, texts: seed.map(textOf), snapshots: [] }, () =>
      this.storage.create(header, { claim: this.claim(), seed }),
    )
  }

  async fork(id: string, through: number, child: string): Promise<Lease | undefined> {
    const header = { id: child, createdAt: 2_000, parent: { id, seq: through }, forkedAt: [through] }
    const source = this.known(id)
    const texts = (source?.texts ?? []).slice(0, through + 1)
    const snapshots = (source?.snapshots ?? []).filter(({ at }) => at.seq <= through)
    return this.bear({ header, texts, snapshots }, () =>
      this.storage.fork({ id, through }, header, this.claim()),
    )
  }

  async acquire(id: string): Promise<Lease | undefined> {
    const lease = await this.attempt('acquire', () =>
      this.storage.acquire(id, { claim: this.claim(), force: true }),
    )
    const known = this.known(id)
    if (lease === undefined || known === undefined) return lease
    const { texts, pending, tail } = known
    const all = [...texts, ...pending]
    const { seq, digest } = lease.tail
    if (seq !== texts.length - 1 && seq !== all.length - 1) {
      this.report(
        seq < texts.length ? 'lost' : 'invented',
        `claimed at seq ${seq}; ${texts.length} were acknowledged`,
      )
      return undefined
    }
    if (seq === tail?.seq && digest !== tail.digest) this.report('altered', 'claimed at another digest')
    if (lease.epoch <= known.epoch) this.report('unfenced', `epoch ${lease.epoch} after ${known.epoch}`)
    const { epoch } = lease
    this.note(id, {
      ...known,
      state: 'there',
      texts: all.slice(0, seq + 1),
      pending: [],
      tail: lease.tail,
      epoch,
    })
    return lease
  }

  /** Appends events of these sizes, and one for each recovery, as one batch. True: it was acknowledged. */
  async append(
    lease: Lease,
    sizes: readonly number[],
    recovered: readonly SessionRecovered[] = [],
  ): Promise<boolean> {
    const { id } = lease.header
    const before = this.known(id)
    if (before === undefined) return false
    const from = lease.tail.seq + 1
    const batch = [
      ...recovered.map((record, index) => recoveredEvent(from + index, record)),
      ...sizes.map((sizeBytes, index) => testEvent(from + recovered.length + index, sizeBytes, this.random)),
    ]
    const isOpen = before.pending.length > 0
    if (!isOpen) this.note(id, { ...before, pending: batch.map(textOf) })
    const refusalsBefore = this.refusals.length
    const receipt = await this.attempt('append', () => lease.append(batch, this.termsOf(lease)))
    if (receipt === undefined) {
      const code = this.refusals[refusalsBefore]?.code ?? ''
      if (!openOutcomes.includes(code)) this.note(id, before)
      return false
    }
    if (isOpen) this.report('unfenced', 'a writer that had failed was acknowledged')
    const texts = [...before.texts, ...batch.map(textOf)]
    if (receipt.tail.seq !== texts.length - 1)
      this.report('altered', `acknowledged as ending at ${receipt.tail.seq}`)
    this.note(id, { ...before, texts, pending: [], tail: receipt.tail })
    return true
  }

  /** An append by a writer that may not write any more. */
  async appendStale(lease: Lease): Promise<void> {
    const batch = [testEvent(lease.tail.seq + 1, 20, this.random)]
    await this.fenced('append', () => lease.append(batch, this.termsOf(lease)))
  }

  /** Saves a snapshot of where a lease ends; nothing, where the storage keeps none. True: it was acknowledged. */
  async save(lease: Lease): Promise<boolean> {
    const { id } = lease.header
    const shelf = this.storage.snapshots
    const known = this.known(id)
    if (shelf === undefined || known === undefined) return false
    const snapshot = snapshotAt(lease.tail, `${id}-${this.nextName()}`)
    this.note(id, { ...known, snapshots: [...known.snapshots, snapshot] })
    const isSaved = await this.attempt('save', () => shelf.save(lease, storedOf(snapshot)).then(() => true))
    if (isSaved) this.shelved.set(id, snapshot.at.seq)
    return isSaved ?? false
  }

  /** A save by a writer that may not write any more. */
  async saveStale(lease: Lease): Promise<void> {
    const shelf = this.storage.snapshots
    if (shelf === undefined) return
    const snapshot = snapshotAt(lease.tail, `${lease.header.id}-${this.nextName()}`)
    await this.fenced('save', () => shelf.save(lease, storedOf(snapshot)))
  }

  /** Loads a snapshot. None is always right after a crash; what is given is one that was saved. */
  async load(id: string, through = Infinity): Promise<void> {
    const shelf = this.storage.snapshots
    if (shelf === undefined) return
    const loaded = await this.changingNothing('load', async () => ({ found: await shelf.load(id, through) }))
    const known = this.known(id)
    const shelved = (!this.isTroubled && this.shelved.get(id)) || undefined
    const wrong = loaded && known && compareSnapshot(known, loaded.found, { through, shelved })
    if (wrong) this.problems.push(wrong)
  }

  /** Reads a session and compares it with what is known. `undefined`: it is not there, or that failed. */
  async read(id: string): Promise<FoundLog | undefined> {
    const found = await this.changingNothing('read', async () => collect(await this.storage.read(id)))
    const known = this.known(id)
    const wrong = found && known && compare(known, found)
    if (wrong) this.problems.push(wrong)
    return found
  }

  async verify(id: string): Promise<Verdict | undefined> {
    return this.attempt('verify', () => this.storage.verify(id))
  }

  async list(): Promise<readonly string[] | undefined> {
    const page = await this.attempt('list', () => this.storage.list({ countMax: 100 }))
    return page?.sessions.map(({ id, status }) => `${status} ${id}`)
  }

  async remove(id: string): Promise<void> {
    const known = this.known(id)
    if (known) this.note(id, { ...known, state: 'leaving' })
    const isGone = await this.attempt('remove', async () => {
      await this.storage.remove(id)
      return true
    })
    if (isGone && known)
      this.note(id, { ...known, state: 'gone', texts: [], pending: [], snapshots: [], epoch: 0 })
  }

  async release(lease: Lease): Promise<void> {
    await this.attempt('release', () => lease.release())
  }

  async close(): Promise<void> {
    for (const storage of this.opened) await this.attempt('close', () => storage.close())
  }

  known(id: string): KnownSession | undefined {
    return this.told.ledger.now.get(id)
  }

  /** Takes for known what the storage itself said is durable. */
  settle(id: string, session: KnownSession): void {
    this.note(id, session)
  }

  private async bear(
    { header, texts, snapshots }: Pick<KnownSession, 'header' | 'texts' | 'snapshots'>,
    work: () => Promise<Lease>,
  ): Promise<Lease | undefined> {
    const { id } = header
    const asked: KnownSession = { header, state: 'asked', texts, pending: [], snapshots, epoch: 0 }
    this.shelved.delete(id)
    this.note(id, asked)
    const lease = await this.attempt('create', work)
    if (lease === undefined) return undefined
    if (lease.tail.seq !== texts.length - 1)
      this.report('altered', `born with its end at seq ${lease.tail.seq}`)
    this.note(id, { ...asked, state: 'there', tail: lease.tail, epoch: lease.epoch })
    return lease
  }

  private note(id: string, session: KnownSession): void {
    this.told.ledger.note(this.disk.changes, id, session)
  }

  private claim(): Claim {
    return { incarnation: `life-${this.nextName()}`, enabledBy: 'config' }
  }

  private termsOf(lease: Lease) {
    return { expectedTail: lease.tail, epoch: lease.epoch, batchId: `batch-${this.nextName()}` }
  }

  private nextName(): string {
    this.names += 1
    // Another teller goes on with the same log.
    return `${this.told.seed.toString(36)}-${this.names}`
  }
}
