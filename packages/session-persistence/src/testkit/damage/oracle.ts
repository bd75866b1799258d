import { isSessionError } from '@tidemark/session-core'
import type { Lease, Snapshot } from '../../storage.ts'
import { fingerprint } from '../crash/fingerprint.ts'
import { filesOf, type DiskImage } from '../disk/image.ts'
import { SimulatedDisk } from '../disk/simulated-disk.ts'
import type { Problem } from '../finding.ts'
import { collect, compare, problem, type FoundLog } from '../story/found-log.ts'
import { compareSnapshot } from '../story/known-snapshot.ts'
import { Ledger, type KnownSession } from '../story/ledger.ts'
import { Teller } from '../story/teller.ts'
import type { Subject } from '../subject.ts'
import type { Damage } from './damages.ts'
import { soundId, type SoundLog } from './sound-log.ts'

/**
 * What a damage came to. `residue`: the end of the log was taken for torn, as it may be. `not asked`: a read does not
 * ask for that file. `snapshot`, `no snapshot`: what was loaded is one that was saved, or there is none.
 */
export type DamageOutcome =
  | { readonly kind: 'truth' | 'residue' | 'refused' | 'not asked' | 'snapshot' | 'no snapshot' }
  | { readonly kind: 'wrong'; readonly problem: Problem }

type Asking = 'read' | 'receipt' | 'load'

/** Says what a damaged log may be read as. */
export class Oracle {
  /** Fewer events than these are a loss. */
  private readonly eventsMin: number
  /** And fewer than these, where the log's last line is still there: it proves the batch before it. */
  private readonly eventsMinBeforeEnd: number
  /** What is asked for in the sound log, by path. */
  private readonly asked = new Map<Asking, ReadonlySet<string>>()
  private readonly sound: ReadonlyMap<string, Buffer>

  constructor(
    private readonly subject: Subject,
    private readonly log: SoundLog,
    durability: 'lazy' | 'strict',
  ) {
    const { known, provenCount, tails } = log
    const beforeLast = (tails.at(-2)?.seq ?? -1) + 1
    // The last batch is in doubt only while its writer has not closed the log.
    const isClosed = provenCount === known.texts.length
    this.eventsMin =
      durability === 'strict' || isClosed ? known.texts.length : Math.min(provenCount, beforeLast)
    this.eventsMinBeforeEnd = Math.max(this.eventsMin, beforeLast)
    this.sound = filesOf(log.image)
  }

  /** Reads a damaged log; with `isReceipted` as a caller who knows where it ended, who is never given less. */
  async read(damage: Damage, isReceipted: boolean): Promise<DamageOutcome> {
    const image = damage.apply(this.log.image)
    const disk = new SimulatedDisk({ image })
    try {
      const asked = await this.askedBy(isReceipted ? 'receipt' : 'read')
      if (damage.isInside && !asked.has(damage.path)) return { kind: 'not asked' }
      const found = await this.readFrom(disk, isReceipted)
      if (disk.changes > 0) return wrong('changed', 'a read changed the disk')
      const outcome = this.judge(found, this.eventsMinOf(damage, image))
      if (isReceipted && outcome.kind === 'residue')
        return wrong('lost', 'a read with a receipt gives less than the receipt says')
      return outcome
    } catch (error) {
      return this.refusal(error, disk, damage)
    }
  }

  /** Whether a damage is to be met by a load: of a snapshot alone, not of what one file holds, or a sample of others. */
  async isLoaded(damage: Damage, isSampled: boolean): Promise<boolean> {
    if (this.log.known.snapshots.length === 0) return false
    return isSampled || !damage.isInside || (await this.isOfSnapshot(damage))
  }

  /** Loads snapshots of a damaged log: each is one that was saved of it, or there is none. */
  async load(damage: Damage): Promise<DamageOutcome> {
    const disk = new SimulatedDisk({ image: damage.apply(this.log.image) })
    try {
      const found = await this.loadFrom(disk)
      if (disk.changes > 0) return wrong('changed', 'a load changed the disk')
      for (const [through, snapshot] of found) {
        const problem = compareSnapshot(this.log.known, snapshot, { through })
        if (problem) return { kind: 'wrong', problem }
      }
      return { kind: [...found.values()].some(Boolean) ? 'snapshot' : 'no snapshot' }
    } catch (error) {
      return this.refusal(error, disk, damage)
    }
  }

  /** A file that is asked for by a load, and by no read, holds a snapshot. */
  private async isOfSnapshot({ path }: Damage): Promise<boolean> {
    return (await this.askedBy('load')).has(path) && !(await this.askedBy('read')).has(path)
  }

  /**
   * The paths that a call on the sound log names: a storage that does not ask for a file gives the same, whatever that
   * holds, since the same calls get the same answers.
   */
  private async askedBy(asking: Asking): Promise<ReadonlySet<string>> {
    const known = this.asked.get(asking)
    if (known) return known
    const disk = new SimulatedDisk({ image: this.log.image })
    const asked = new Set<string>()
    disk.onCall = ({ path }) => void asked.add(path)
    if (asking === 'load') await this.loadFrom(disk)
    else await this.readFrom(disk, asking === 'receipt')
    this.asked.set(asking, asked)
    return asked
  }

  /** The newest snapshot, and the one before that, by the seq up to which it was wanted. */
  private async loadFrom(disk: SimulatedDisk): Promise<Map<number, Snapshot | undefined>> {
    const shelf = this.subject.open(disk).snapshots
    const found = new Map<number, Snapshot | undefined>()
    const before = this.log.known.snapshots.at(-2)?.at.seq
    for (const through of [Infinity, ...(before === undefined ? [] : [before])])
      if (shelf) found.set(through, await shelf.load(soundId, through))
    return found
  }

  private eventsMinOf({ path, isInside }: Damage, image: DiskImage): number {
    if (this.eventsMin === this.eventsMinBeforeEnd || !isInside) return this.eventsMin
    const content = filesOf(image).get(path)
    const before = this.sound.get(path)
    const isEndLeft = content && before && endsAs(content, before)
    return isEndLeft ? this.eventsMinBeforeEnd : this.eventsMin
  }

  private async readFrom(disk: SimulatedDisk, isReceipted: boolean): Promise<FoundLog> {
    const { tail } = this.log.known
    const terms = isReceipted && tail ? { receipt: tail } : {}
    return collect(await this.subject.open(disk).read(soundId, terms))
  }

  /** Claims a damaged log and writes to it. */
  async claim(damage: Damage): Promise<DamageOutcome> {
    const image = damage.apply(this.log.image)
    const disk = new SimulatedDisk({ image })
    const storage = this.subject.open(disk)
    let lease: Lease
    try {
      const claim = { incarnation: 'after damage', enabledBy: 'config' } as const
      lease = await storage.acquire(soundId, { claim, force: true })
    } catch (error) {
      // To sync what is there changes nothing.
      const isSame = fingerprint(disk.image(), '') === fingerprint(image, '')
      if (!isSame) return wrong('changed', 'a claim was refused, and changed the disk')
      return this.refusal(error, disk, damage)
    }
    const { tail, epoch } = lease
    const { known, tails } = this.log
    const texts = known.texts.slice(0, tail.seq + 1)
    if (texts.length < this.eventsMinOf(damage, image))
      return wrong('lost', `claimed at seq ${tail.seq}; ${known.texts.length} were acknowledged`)
    if (texts.length > 0 && !tails.some(({ seq, digest }) => seq === tail.seq && digest === tail.digest))
      return wrong('altered', `claimed at seq ${tail.seq}, where no batch ended with this digest`)
    await lease.release()
    await storage.close()
    const snapshots = known.snapshots.filter(({ at }) => at.seq <= tail.seq)
    return this.goOn(disk, { ...known, texts, snapshots, tail, epoch })
  }

  /** A log that was claimed is whole: it can be read, claimed again and written. */
  private async goOn(disk: SimulatedDisk, known: KnownSession): Promise<DamageOutcome> {
    const ledger = new Ledger(new Map([[soundId, known]]))
    const teller = new Teller({ subject: this.subject, disk, ledger, seed: 7 })
    await teller.read(soundId)
    const lease = await teller.acquire(soundId)
    if (lease) await teller.append(lease, [10])
    if (lease && (await teller.save(lease))) await teller.load(soundId)
    await teller.close()
    teller.reopen()
    await teller.read(soundId)
    await teller.load(soundId)
    const [first] = teller.problems
    if (first) return { kind: 'wrong', problem: first }
    return { kind: known.texts.length < this.log.known.texts.length ? 'residue' : 'truth' }
  }

  private judge(found: FoundLog, eventsMin: number): DamageOutcome {
    const { known, tails } = this.log
    const count = found.texts.length
    const isWhole = count === known.texts.length
    const { tail: _, ...rest } = known
    const tail = isWhole ? known.tail : tails.find(({ seq }) => seq === count - 1)
    const shortened = { ...rest, texts: known.texts.slice(0, count), ...(tail && { tail }) }
    const isBatch = isWhole || count === 0 || tail !== undefined
    const problem = compare(count > known.texts.length ? known : shortened, found)
    if (problem) return { kind: 'wrong', problem }
    if (!isBatch) return wrong('torn', `${count} events, which end in the middle of a batch`)
    if (count < eventsMin) return wrong('lost', `${count} events; ${known.texts.length} were acknowledged`)
    return { kind: isWhole ? 'truth' : 'residue' }
  }

  /** `NOT_FOUND` is a refusal only where a file is missing: otherwise it hides a session that is there. */
  private async refusal(error: unknown, disk: SimulatedDisk, damage: Damage): Promise<DamageOutcome> {
    if (!isSessionError(error)) return wrong('untyped', `threw ${String(error)}`)
    if (error.code === 'NOT_FOUND' && damage.kind !== 'file lost')
      return wrong('lost', 'the session is not found')
    if (!['CORRUPT', 'UNSUPPORTED_FORMAT', 'NOT_FOUND'].includes(error.code))
      return wrong('untyped', `${error.code}: ${error.message}`)
    if (disk.openFiles > 0) return wrong('leaked', `${disk.openFiles} files stay open after a refusal`)
    if (damage.kind !== 'files swapped' && (await this.isOfSnapshot(damage)))
      return wrong('refused', `for a snapshot: ${error.message}`)
    return { kind: 'refused' }
  }
}

function wrong(kind: Problem['kind'], detail: string): DamageOutcome {
  return { kind: 'wrong', problem: problem(kind, detail) }
}

/** Whether a file ends with the line with which another one ends. */
function endsAs(content: Buffer, other: Buffer): boolean {
  const line = other.subarray(other.lastIndexOf(10, -2) + 1)
  return content.length >= line.length && content.subarray(content.length - line.length).equals(line)
}
