import { join } from 'node:path'
import { glance, type OwnSegment } from './own-segment.ts'
import { placeOfAside } from './quarantine.ts'
import { cleanUp } from './writing.ts'

/** Of one session, in `recovered/`: what stands in the place of snapshots again and again must not fill the disk. */
const asideMax = 8

/**
 * Renames what stands under a snapshot's name and is none of this log, so that whoever wants to can look at it, and it
 * is passed over no more. A folder goes as a whole, a link as a link.
 *
 * @throws SessionError `FENCED`: only the holder moves what is in the folder. `STORAGE_FAILED`, the port's failures.
 */
export async function setSnapshotAside(own: OwnSegment, name: string): Promise<void> {
  const { folder } = own
  const { port, path } = folder
  const place = await placeOfAside(folder)
  const aside = (await port.readdir(place)).filter((each) => each.startsWith('snapshot-'))
  const oldest = aside
    .sort((a, b) => epochIn(a) - epochIn(b))
    .slice(0, Math.max(0, aside.length - asideMax + 1))
  for (const each of oldest) await cleanUp(() => port.unlink(join(place, each)))
  await glance(own)
  await port.rename(join(path, name), join(place, `${name}.${own.name.epoch}.${port.random(2)}`))
  await port.syncFolder(place)
  await port.syncFolder(path)
}

function epochIn(name: string): number {
  return Number(/\.(\d+)\.[0-9a-f]+$/.exec(name)?.[1] ?? 0)
}
