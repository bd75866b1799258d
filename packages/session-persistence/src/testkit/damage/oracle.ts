import { isSessionError } from '@tidemark/session-core'
import type { Lease } from '../../storage.ts'
import { fingerprint } from '../crash/fingerprint.ts'
import { SimulatedDisk } from '../disk/simulated-disk.ts'
import type { Problem } from '../finding.ts'
import { collect, compare, problem, type FoundLog } from '../story/found-log.ts'
import { Ledger, type KnownSession } from '../story/ledger.ts'
import { Teller } from '../story/teller.ts'
import type { Subject } from '../subject.ts'
import type { Damage } from './damages.ts'
import { soundId, type SoundLog } from './sound-log.ts'

/**
 * What a damage came to. `residue`: the end of the log was taken for torn, as it may be. `not asked`: a read does not
 * ask for that file.
 */
export type DamageOutcome =
  | { readonly kind: 'truth' | 'residue' | 'refused' | 'not asked' }
  | { readonly kind: 'wrong'; readonly problem: Problem }

/** Says what a damaged log may be read as. */
export class Oracle {
  /** Fewer events than these are a loss. */
  private readonly eventsMin: number
  /** What a read of the sound log asks for, with a receipt and without, by path. */
  private readonly asked = new Map<boolean, ReadonlySet<string>>()

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
  }

  /** Reads a damaged log; with `isReceipted` as a caller who knows where it ended, who is never given less. */
  async read(damage: Damage, isReceipted: boolean): Promise<DamageOutcome> {
    const disk = new SimulatedDisk({ image: damage.apply(this.log.image) })
    try {
      const isAsked = !damage.isInside || (await this.askedBy(isReceipted)).has(damage.path)
      if (!isAsked) return { kind: 'not asked' }
      const found = await this.readFrom(disk, isReceipted)
      if (disk.changes > 0) return wrong('changed', 'a read changed the disk')
      const outcome = this.judge(found)
      if (isReceipted && outcome.kind === 'residue')
        return wrong('lost', 'a read with a receipt gives less than the receipt says')
      return outcome
    } catch (error) {
      return refusal(error, disk, damage)
    }
  }

  /**
   * The paths that a read of the sound log names in a call: a storage that does not ask for a file gives the same,
   * whatever that holds, since the same calls get the same answers.
   */
  private async askedBy(isReceipted: boolean): Promise<ReadonlySet<string>> {
    const known = this.asked.get(isReceipted)
    if (known) return known
    const disk = new SimulatedDisk({ image: this.log.image })
    const asked = new Set<string>()
    disk.onCall = ({ path }) => void asked.add(path)
    await this.readFrom(disk, isReceipted)
    this.asked.set(isReceipted, asked)
    return asked
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
      return refusal(error, disk, damage)
    }
    const { tail, epoch } = lease
    const { known, tails } = this.log
    const texts = known.texts.slice(0, tail.seq + 1)
    if (texts.length < this.eventsMin)
      return wrong('lost', `claimed at seq ${tail.seq}; ${known.texts.length} were acknowledged`)
    if (texts.length > 0 && !tails.some(({ seq, digest }) => seq === tail.seq && digest === tail.digest))
      return wrong('altered', `claimed at seq ${tail.seq}, where no batch ended with this digest`)
    await lease.release()
    await storage.close()
    return this.goOn(disk, { ...known, texts, tail, epoch })
  }

  /** A log that was claimed is whole: it can be read, claimed again and written. */
  private async goOn(disk: SimulatedDisk, known: KnownSession): Promise<DamageOutcome> {
    const ledger = new Ledger(new Map([[soundId, known]]))
    const teller = new Teller({ subject: this.subject, disk, ledger, seed: 7 })
    await teller.read(soundId)
    const lease = await teller.acquire(soundId)
    if (lease) await teller.append(lease, [10])
    await teller.close()
    teller.reopen()
    await teller.read(soundId)
    const [first] = teller.problems
    if (first) return { kind: 'wrong', problem: first }
    return { kind: known.texts.length < this.log.known.texts.length ? 'residue' : 'truth' }
  }

  private judge(found: FoundLog): DamageOutcome {
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
    if (count < this.eventsMin)
      return wrong('lost', `${count} events; ${known.texts.length} were acknowledged`)
    return { kind: isWhole ? 'truth' : 'residue' }
  }
}

function wrong(kind: Problem['kind'], detail: string): DamageOutcome {
  return { kind: 'wrong', problem: problem(kind, detail) }
}

/** `NOT_FOUND` is a refusal only where a file is missing: otherwise it hides a session that is there. */
function refusal(error: unknown, disk: SimulatedDisk, damage: Damage): DamageOutcome {
  if (!isSessionError(error)) return wrong('untyped', `threw ${String(error)}`)
  if (error.code === 'NOT_FOUND' && damage.kind !== 'file lost')
    return wrong('lost', 'the session is not found')
  if (!['CORRUPT', 'UNSUPPORTED_FORMAT', 'NOT_FOUND'].includes(error.code))
    return wrong('untyped', `${error.code}: ${error.message}`)
  if (disk.openFiles > 0) return wrong('leaked', `${disk.openFiles} files stay open after a refusal`)
  return { kind: 'refused' }
}
