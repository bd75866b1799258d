import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** What stands under a folder. A file with several names counts once; one that goes away meanwhile does not. */
export async function diskUse(folder) {
  const files = new Map()
  await collect(folder, files)
  const sizes = [...files.values()]
  return { sizeBytes: sizes.reduce((sum, size) => sum + size, 0), fileCount: sizes.length }
}

async function collect(folder, files) {
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(noneIfMissing)) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await collect(path, files)
    else await lstat(path).then(({ dev, ino, size }) => files.set(`${dev}:${ino}`, size), noneIfMissing)
  }
}

function noneIfMissing(error) {
  if (error.code !== 'ENOENT') throw error
  return []
}
