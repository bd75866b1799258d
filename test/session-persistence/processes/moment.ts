import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises'
import { folderOf } from '../files.ts'
import type { Child } from './child.ts'
import type { Line, Told } from './line.ts'
import type { Random } from './random.ts'

/** Characters of a batch that takes a moment to be written. */
const largeLength = 200_000

/**
 * Waits for a random moment of a story that was just let go: any, or, every second time, one at which a large batch is
 * on its way to the disk, where there is something to tear.
 */
export async function moment(child: Child, root: string, random: Random): Promise<void> {
  const linesMin = child.lines.length + random.below(30)
  await child.until(({ length }) => length >= linesMin)
  if (random.chance(0.5)) return pause(random.below(50))
  await child.until((lines) => isLarge(lines.at(-1)))
  const { id } = child.lines.at(-1) as Told<'writing'>
  const before = storedBytes(root, id)
  while (isLarge(child.lines.at(-1)) && storedBytes(root, id) < before + largeLength / 2) await turn()
  if (random.chance(0.5)) await pause(random.below(8))
}

function isLarge(line: Line | undefined): boolean {
  if (line?.told !== 'writing') return false
  return line.events.reduce((sum, { length }) => sum + length, 0) >= largeLength
}

/** Bytes in a session's segments, on the disk or on their way to it. */
function storedBytes(root: string, id: string): number {
  const folder = folderOf(root, id)
  const names = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
  return names.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
}
