import type { DiskCallName, DiskFault } from '../disk/fault.ts'
import type { Story } from './story.ts'
import type { Teller } from './teller.ts'

/** What a host does in the life of its sessions, and what goes wrong meanwhile. */
export const stories: readonly Story[] = [
  { name: 'lifecycles', chapters: [{ tell: lifecycles }] },
  { name: 'large batch', chapters: [{ tell: largeBatch }] },
  { name: 'takeovers', chapters: [{ tell: takeovers }] },
  { name: 'forks', chapters: [{ tell: forks }] },
  { name: 'removal', chapters: [{ tell: removal }] },
  { name: 'sync fails, pages clean', chapters: [{ tell: (teller) => failedSync(teller, 'clean') }] },
  { name: 'sync fails, pages dropped', chapters: [{ tell: (teller) => failedSync(teller, 'dropped') }] },
  { name: 'sync fails, pages kept', chapters: [{ tell: (teller) => failedSync(teller, 'kept') }] },
  { name: 'full disk', chapters: [{ tell: fullDisk }] },
  { name: 'crashes', chapters: [{ tell: lifecycles }, { tell: goOn }, { tell: goOn }, { tell: goOn }] },
  { name: 'snapshots', chapters: [{ tell: snapshots }] },
]

/** More than the second in which a durable head may be late. */
const headMsMax = 1_500

/** Sizes of the events of a batch. */
function sizes({ random }: Teller): number[] {
  return Array.from({ length: 1 + random.below(4) }, () => random.below(120))
}

async function lifecycles(teller: Teller): Promise<void> {
  const { disk } = teller
  const first = await teller.create('a', [10, 60])
  if (first === undefined) return
  await teller.append(first, [30])
  await teller.append(first, sizes(teller))
  await disk.advance(headMsMax)
  await teller.release(first)
  const second = await teller.acquire('a')
  if (second === undefined) return
  await teller.release(second)
  await teller.close()
  teller.reopen()
  const third = await teller.acquire('a')
  if (third === undefined) return
  await teller.append(third, sizes(teller))
  await disk.advance(headMsMax)
  await teller.append(third, [20, 90])
  await teller.append(third, [1])
  await teller.close()
}

/** Larger than three pages, so that whole pages of it may be missing. */
async function largeBatch(teller: Teller): Promise<void> {
  const lease = await teller.create('a')
  if (lease === undefined) return
  await teller.append(lease, sizes(teller))
  await teller.append(lease, [4_300, 10, 4_300, 4_300])
  await teller.disk.advance(headMsMax)
  await teller.append(lease, [20])
  await teller.close()
}

async function takeovers(teller: Teller): Promise<void> {
  const first = await teller.create('a')
  if (first === undefined) return
  await teller.append(first, sizes(teller))
  await teller.append(first, [5])
  teller.reopen()
  const second = await teller.acquire('a')
  if (second === undefined) return
  await teller.appendStale(first)
  await teller.append(second, sizes(teller))
  await teller.disk.advance(headMsMax)
  teller.reopen()
  const third = await teller.acquire('a')
  if (third === undefined) return
  await teller.append(third, sizes(teller))
  await teller.appendStale(second)
  await teller.append(third, [5])
  await teller.close()
}

async function forks(teller: Teller): Promise<void> {
  const parent = await teller.create('p', [10, 10])
  if (parent === undefined) return
  await teller.append(parent, [10, 20, 30])
  await teller.append(parent, sizes(teller))
  const child = await teller.fork('p', 3, 'c')
  if (child === undefined) return
  await teller.append(child, [40])
  await teller.append(parent, [50])
  await teller.release(child)
  const again = await teller.acquire('c')
  if (again) await teller.append(again, [60])
  await teller.fork('c', 4, 'd')
  await teller.close()
}

async function removal(teller: Teller): Promise<void> {
  const first = await teller.create('a', [10])
  const other = await teller.create('b')
  if (first === undefined || other === undefined) return
  await teller.append(first, [10, 10])
  await teller.append(other, [20])
  await teller.remove('a')
  await teller.appendStale(first)
  const second = await teller.create('a', [30])
  if (second === undefined) return
  await teller.append(second, [40])
  await teller.append(other, [50])
  await teller.remove('b')
  // Its last writer does not know yet, and may have something left to do.
  const again = await teller.create('b')
  if (again === undefined) return
  await teller.disk.advance(headMsMax)
  await teller.append(again, [60])
  await teller.release(other)
  await teller.read('b')
  await teller.close()
}

async function failedSync(teller: Teller, pages: 'kept' | 'clean' | 'dropped'): Promise<void> {
  const lease = await teller.create('a', [10])
  if (lease === undefined) return
  await teller.append(lease, [20, 20])
  teller.isTroubled = true
  meetOnce(teller, 'sync', { kind: 'refused', code: 'EIO', pages })
  await teller.append(lease, sizes(teller))
  await teller.append(lease, [5])
  await teller.release(lease)
  teller.isTroubled = false
  await afterTrouble(teller)
}

async function fullDisk(teller: Teller): Promise<void> {
  const lease = await teller.create('a', [10])
  if (lease === undefined) return
  await teller.append(lease, [20, 20])
  teller.isTroubled = true
  meetOnce(teller, 'write', { kind: 'short' }, { kind: 'refused', code: 'ENOSPC' })
  await teller.append(lease, [300, 900])
  await teller.append(lease, [5])
  await teller.release(lease)
  teller.isTroubled = false
  await afterTrouble(teller)
}

async function afterTrouble(teller: Teller): Promise<void> {
  await teller.read('a')
  teller.reopen()
  const next = await teller.acquire('a')
  if (next === undefined) return
  await teller.append(next, sizes(teller), next.recovered)
  await teller.append(next, [30])
  await teller.close()
}

/** Goes on with whatever the crash before has left. */
async function goOn(teller: Teller): Promise<void> {
  const isThere = (await teller.list())?.includes('ok a')
  const lease = isThere ? await teller.acquire('a') : await teller.create('a')
  if (lease === undefined) return
  await teller.append(lease, sizes(teller), lease.recovered)
  await teller.append(lease, [20])
  await teller.disk.advance(headMsMax)
  await teller.append(lease, sizes(teller))
}

/** A third snapshot of one log, of a fork, after a takeover, and of an id that was another session's. */
async function snapshots(teller: Teller): Promise<void> {
  const first = await teller.create('a', [10])
  if (first === undefined) return
  await teller.save(first)
  await teller.append(first, sizes(teller))
  await teller.save(first)
  await teller.append(first, [20])
  const child = await teller.fork('a', 1, 'c')
  if (child === undefined) return
  await teller.load('c')
  await teller.append(child, [30])
  await teller.save(child)
  teller.reopen()
  const second = await teller.acquire('a')
  if (second === undefined) return
  await teller.saveStale(first)
  await teller.append(second, [10])
  await teller.save(second)
  await teller.load('a')
  await teller.load('a', first.tail.seq)
  await teller.remove('c')
  await teller.saveStale(child)
  const again = await teller.create('c', [40])
  await teller.load('c')
  if (again) await teller.save(again)
  await teller.load('c')
  await teller.close()
}

/** The next calls of this name meet these faults, one each. */
function meetOnce({ disk }: Teller, name: DiskCallName, ...faults: readonly DiskFault[]): void {
  const left = [...faults]
  disk.onCall = (call) => (call.name === name ? left.shift() : undefined)
}
