import { join } from 'node:path'
import { SessionError, isSessionError } from '@tidemark/session-core'
import { findChain } from './chain.ts'
import { FolderMemory } from './folder-memory.ts'
import { look, refuseReplaced, type OwnSegment } from './own-segment.ts'
import { mayBeDue, planPack, sealedLinks, withoutPacks, type PackPlan } from './pack-plan.ts'
import { holdingsOf, isDue, removableNames, writePack, type Holdings } from './packing.ts'
import { hasReason, isSystemFailure } from './port.ts'
import type { SessionFolder } from './segment-file.ts'

/** Packs that are written one after the other, where many segments stand unpacked. */
const packsMax = 64

/**
 * Packs the sealed segments of one session, for as long as its lease lasts. Nothing depends on it: what it does not
 * get to, a later one does, and what it fails at is as it was.
 *
 * 1. A name is removed only once everything that it holds is in a durable pack, and its holder looked after that.
 * 2. The newest segment, and what it does not seal, stay what they are.
 */
export class Packer {
  private under: Promise<void> = Promise.resolve()
  private isBusy = false
  private isOver = false

  /** `settled`: the segment of the lease whose first batch was synced and looked at last. */
  constructor(
    private readonly settled: () => OwnSegment,
    private readonly isWanted = true,
  ) {}

  /** Packs what is due, in the background. */
  start(): void {
    if (this.isBusy || this.isOver || !this.isWanted) return
    this.isBusy = true
    this.under = this.run(false).finally(() => void (this.isBusy = false))
  }

  /** Ends what is under way; it leaves nothing behind. */
  async stop(): Promise<void> {
    this.isOver = true
    await this.under
  }

  /** Ends what is under way, without waiting for that. */
  abandon(): void {
    this.isOver = true
  }

  /** The last work of a lease: what is due and small. */
  async finish(): Promise<void> {
    await this.stop()
    if (!this.isWanted) return
    this.isOver = false
    await this.run(true)
    this.isOver = true
  }

  private async run(isHurried: boolean): Promise<void> {
    try {
      const { folder } = this.settled()
      const names = await folder.port.readdir(folder.path)
      if (!mayBeDue(names, isHurried)) return
      await this.pack({ ...folder, memory: new FolderMemory() }, isHurried)
    } catch (error) {
      if (!isSessionError(error) && !isSystemFailure(error)) throw error // what is not packed now is packed later
    }
  }

  private async pack(folder: SessionFolder, isHurried: boolean): Promise<void> {
    const sound = new Set<string>()
    for (let packs = 0; packs < (isHurried ? 1 : packsMax); packs++) {
      const holdings = await this.find(folder)
      const { links, listing } = holdings
      if (packs === 0 && !isDue(holdings, isHurried)) return
      const plan = planPack(links, listing.packs, isHurried)
      if (plan === undefined) return this.remove(folder, holdings, sound)
      const written = await this.write(folder, plan)
      if (written === undefined) return
      sound.add(written.name)
      await this.remove(folder, await this.find(folder), sound)
    }
  }

  private async write(folder: SessionFolder, plan: PackPlan): Promise<PackPlan | undefined> {
    const during = {
      onBlock: () => this.refuseOver(),
      onReady: async () => {
        this.refuseOver()
        await look(this.settled())
      },
    }
    for (const each of [plan, withoutPacks(plan)]) if (await writePack(folder, each, during)) return each
    return undefined
  }

  private async find(folder: SessionFolder): Promise<Holdings> {
    this.refuseOver()
    const { name } = this.settled()
    const chain = await findChain(folder)
    return holdingsOf(folder, { chain, links: sealedLinks(chain, name), epoch: name.epoch })
  }

  /** A stopped holder that wakes up here removes nothing that is not held elsewhere. */
  private async remove(folder: SessionFolder, holdings: Holdings, sound: Set<string>): Promise<void> {
    const { port, path } = folder
    const names = await removableNames(folder, holdings, sound)
    if (names.length === 0) return
    await port.syncFolder(path) // a pack that was found may have a name only in memory
    const own = this.settled()
    await look(own)
    for (const name of names) {
      this.refuseOver()
      await refuseReplaced(own)
      await unlink(folder, name)
    }
  }

  private refuseOver(): void {
    if (this.isOver) throw new SessionError('DISPOSED', 'the lease ended while its segments were packed')
  }
}

async function unlink({ port, path }: SessionFolder, name: string): Promise<void> {
  try {
    await port.unlink(join(path, name))
  } catch (error) {
    if (!hasReason(error, 'ENOENT')) throw error // somebody else removed it
  }
}
