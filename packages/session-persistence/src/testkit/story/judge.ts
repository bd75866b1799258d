import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { isSessionError, type SessionRecovered } from '@tidemark/session-core'
import type { Lease } from '../../storage.ts'
import type { SimulatedDisk } from '../disk/simulated-disk.ts'
import type { Problem } from '../finding.ts'
import type { Subject } from '../subject.ts'
import { collect, compare } from './found-log.ts'
import { Ledger, type KnownSession, type Knowledge } from './ledger.ts'
import { Teller } from './teller.ts'

export interface Case {
  readonly subject: Subject
  readonly disk: SimulatedDisk
  /** What was known before the crash. */
  readonly knowledge: Knowledge
  readonly seed: number
  /** Whether it is closed in any case, and every claimed session claimed again, and not in one case of so many. */
  readonly isThorough?: boolean
}

export interface Judgement {
  /** The first one. */
  readonly problem?: Problem
  /** What is known after it, and since when. */
  readonly ledger: Ledger
}

/**
 * The rule that a disk passes after a crash: every acknowledged event is there and equal; a batch that was not
 * acknowledged is there as a whole or not at all; nothing is invented; nothing is refused; the session can be
 * claimed and written; a snapshot that is loaded is one that was saved; and a second claim, in a part of the cases,
 * finds nothing left to do.
 */
export async function judge({
  subject,
  disk,
  knowledge,
  seed,
  isThorough = false,
}: Case): Promise<Judgement> {
  const ledger = new Ledger(knowledge)
  const teller = new Teller({ subject, disk, ledger, seed })
  const chosen = teller.random.below(knowledge.size)
  const isClosed = isThorough || teller.random.isOneIn(closedEvery)
  for (const [index, id] of [...knowledge.keys()].entries()) {
    const isClaimed = index === chosen || teller.random.isOneIn(claimedEvery)
    // What is left open may work on behind, so only the last one may be.
    const isLast = index === knowledge.size - 1
    await new Hearing(teller, id).hold({ isClaimed, isClosed: isClosed || !isLast })
    const [problem] = teller.problems
    if (problem) return { problem, ledger }
  }
  if (!isClosed) return { ledger }
  await teller.close()
  if (disk.openFiles > 0) teller.report('leaked', `${disk.openFiles} files stay open after close`)
  const [problem] = teller.problems
  return { ledger, ...(problem && { problem }) }
}

/** Of several sessions one is claimed as well as read, and of the others one in so many. */
const claimedEvery = 3

/** Sessions that are claimed, of which one in so many is also verified and listed. */
const inspectedEvery = 8

/** Cases of which one in so many is closed, after its last session was released, read and claimed again. */
const closedEvery = 4

/** One session of a case. Stops at the first problem. */
class Hearing {
  constructor(
    private readonly teller: Teller,
    private readonly id: string,
  ) {}

  async hold({ isClaimed, isClosed }: { isClaimed: boolean; isClosed: boolean }): Promise<void> {
    const { teller, id } = this
    const known = teller.known(id)
    if (known === undefined) return
    const isThere = await this.isThere(known)
    if (isThere === undefined || !isClaimed) return
    if (!isThere) return this.bearAgain(known)
    if (teller.random.isOneIn(inspectedEvery)) await this.inspect(known)
    const lease = await teller.acquire(id)
    if (lease === undefined || this.hasProblem) return
    this.checkQuarantine(lease)
    const isTold = teller.random.isOneIn(2)
    await teller.append(lease, [10], isTold ? (lease.recovered ?? []) : [])
    if (!isClosed) return
    if (known.snapshots.length > 0) await this.snap(lease)
    await teller.release(lease)
    await teller.read(id)
    if (!this.hasProblem) await this.claimAgain(isTold ? [] : (lease.recovered ?? []))
  }

  /** Whatever the crash has left: what is saved now is there. */
  private async snap(lease: Lease): Promise<void> {
    const { teller, id } = this
    if (await teller.save(lease)) await teller.load(id)
  }

  private get hasProblem(): boolean {
    return this.teller.problems.length > 0
  }

  /** Whether the session is there, and as it may be; `undefined` after a problem. */
  private async isThere(known: KnownSession): Promise<boolean | undefined> {
    const { teller, id } = this
    const { changes } = teller.disk
    try {
      const found = await collect(await teller.storage.read(id))
      if (known.state === 'gone') return this.refute('invented', 'a session that was removed is there')
      const problem = compare(known, found)
      if (problem) teller.problems.push(problem)
      if (found.durable >= known.texts.length) this.settle(known, found.durable)
      if (teller.disk.changes !== changes) this.refute('changed', 'a read changed the disk')
      if (known.snapshots.length > 0 && !this.hasProblem) await teller.load(id)
      return this.hasProblem ? undefined : true
    } catch (error) {
      if (!isSessionError(error)) return this.refute('untyped', `read threw ${String(error)}`)
      if (error.code !== 'NOT_FOUND') return this.refute('refused', `read: ${error.code}: ${error.message}`)
      if (known.state === 'there') return this.refute('lost', `the session: ${error.message}`)
      return false
    }
  }

  private refute(kind: Problem['kind'], detail: string): undefined {
    this.teller.report(kind, detail)
  }

  /** What a storage says it can prove durable, it must keep, whether that was acknowledged or not. */
  private settle(known: KnownSession, durable: number): void {
    const all = [...known.texts, ...known.pending]
    const { tail: _, ...rest } = known
    if (durable !== all.length - 1) return
    this.teller.settle(this.id, { ...rest, state: 'there', texts: all, pending: [] })
  }

  /** An id under which nothing is, is free; but a removal that was cut short may still be undone. */
  private async bearAgain({ state }: KnownSession): Promise<void> {
    const { teller, id } = this
    if (state === 'leaving') return
    const lease = await teller.create(id, [10])
    if (lease === undefined) {
      teller.report('refused', `a session that is ${state} cannot be created again`)
      return
    }
    await teller.append(lease, [10])
    await teller.release(lease)
    await teller.read(id)
  }

  private async inspect({ texts, pending }: KnownSession): Promise<void> {
    const { teller, id } = this
    const { changes } = teller.disk
    const verdict = await teller.verify(id)
    if (verdict?.kind === 'damaged') this.refute('refused', `verify: ${verdict.code}: ${verdict.reason}`)
    else if (verdict && ![texts.length - 1, texts.length + pending.length - 1].includes(verdict.tail.seq))
      this.refute('altered', `verify says that the log ends at seq ${verdict.tail.seq}`)
    const listed = await teller.list()
    if (listed && !listed.includes(`ok ${id}`)) this.refute('refused', `listed as: ${listed.join(', ')}`)
    if (teller.disk.changes !== changes) this.refute('changed', 'verify or list changed the disk')
  }

  private checkQuarantine({ recovered = [] }: Lease): void {
    const files = recovered.length > 0 ? [...this.teller.disk.files().values()] : []
    for (const { sizeBytes, digest, segment } of recovered) {
      const isKept = (content: Buffer): boolean => content.length === sizeBytes && sha256(content) === digest
      if (sizeBytes > 0 && !files.some(isKept))
        this.refute('quarantine', `no file holds the ${sizeBytes} bytes of ${segment}`)
    }
  }

  private async claimAgain(untold: readonly SessionRecovered[]): Promise<void> {
    const { teller, id } = this
    const lease = await teller.acquire(id)
    if (lease === undefined || this.hasProblem) return
    const { recovered = [] } = lease
    if (!isDeepStrictEqual([...recovered], [...untold]))
      this.refute('unsettled', `a second claim tells of ${recovered.length} recoveries, not ${untold.length}`)
    this.checkQuarantine(lease)
    await teller.release(lease)
  }
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}
