import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

export const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'))

/** The workspace's packages, each after the ones it is built against. */
export function listPackages() {
  const found = readdirSync(join(root, 'packages'))
    .map((folder) => join(root, 'packages', folder))
    .filter((path) => existsSync(join(path, 'package.json')))
    .map((path) => ({ path, manifest: readJson(join(path, 'package.json')) }))
  const names = new Set(found.map((each) => each.manifest.name))
  return inBuildOrder(
    found.map(({ path, manifest }) => ({
      path,
      manifest,
      name: manifest.name,
      needs: Object.keys({ ...manifest.dependencies, ...manifest.devDependencies }).filter((dependency) =>
        names.has(dependency),
      ),
    })),
  )
}

function inBuildOrder(packages) {
  const ordered = []
  const placed = new Set()
  while (ordered.length < packages.length) {
    const next = packages.find(
      (each) => !placed.has(each.name) && each.needs.every((name) => placed.has(name)),
    )
    if (next === undefined) throw new Error('packages depend on each other in a circle')
    ordered.push(next)
    placed.add(next.name)
  }
  return ordered
}
