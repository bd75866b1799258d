import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Every name below a folder, with all of its status that a change would alter and reading does not. */
export function listTree(folder: string): readonly string[] {
  const { mtimeNs, ctimeNs, size, ino, mode } = lstatSync(folder, { bigint: true })
  const line = `${folder} ${mode.toString(8)} ${ino} ${size} ${mtimeNs} ${ctimeNs}`
  return [line, ...namesIn(folder).flatMap((name) => listTree(join(folder, name)))]
}

function namesIn(path: string): string[] {
  return lstatSync(path).isDirectory() ? readdirSync(path).sort() : []
}
