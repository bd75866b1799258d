import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { root } from './packages.mjs'

/** A digest of files' paths and contents, and of what else they depend on; folders count with all in them. */
export function fingerprint(paths, also = []) {
  const hash = createHash('sha256').update(JSON.stringify(also))
  for (const path of paths.flatMap(filesIn).sort()) {
    const text = readFileSync(path)
    hash.update(`\n${relative(root, path)} ${text.length}\n`).update(text)
  }
  return hash.digest('hex')
}

function filesIn(path) {
  if (!existsSync(path)) return []
  if (statSync(path).isFile()) return [path]
  return readdirSync(path).flatMap((name) => filesIn(join(path, name)))
}
