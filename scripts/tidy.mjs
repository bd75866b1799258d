import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isMain } from './command.mjs'
import { root } from './packages.mjs'
import { codeRules } from './tidy/code.mjs'
import { promiseRules } from './tidy/promise.mjs'
import { proseRules } from './tidy/prose.mjs'
import { shareRules } from './tidy/share.mjs'

/** What the style asks for and a linter cannot say: `{ path, text }` files in, `{ path, line, rule, say }` out. */
export function findUntidy(files) {
  const perFile = [...codeRules, ...proseRules].flatMap((rule) =>
    files
      .filter((file) => rule.covers(file.path))
      .flatMap((file) => rule.find(file).map((found) => ({ path: file.path, rule: rule.name, ...found }))),
  )
  const perTree = [...shareRules, ...promiseRules].flatMap((rule) =>
    rule.find(files).map((found) => ({ rule: rule.name, ...found })),
  )
  return [...perFile, ...perTree]
}

function readRepository() {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
  })
  return String(listed)
    .split('\0')
    .filter((path) => path !== '' && existsSync(join(root, path)))
    .map((path) => ({ path, bytes: readFileSync(join(root, path)) }))
    .filter(({ bytes }) => !bytes.includes(0))
    .map(({ path, bytes }) => ({ path, text: bytes.toString('utf8') }))
}

if (isMain(import.meta.url)) {
  const untidy = findUntidy(readRepository())
  for (const { path, line, rule, say } of untidy) console.log(`${path}:${line} ${rule}: ${say}`)
  process.exitCode = untidy.length === 0 ? 0 : 1
}
