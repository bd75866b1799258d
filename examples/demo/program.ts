import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const examples = fileURLToPath(new URL('..', import.meta.url))
// Inside the repository, so that packages are found from there by their names.
const cache = join(examples, '..', 'node_modules', '.cache', 'tidemark')

/** What a process of the story runs. */
export interface Program {
  readonly entry: string
  readonly execArgv: readonly string[]
  /** Removes what was made for it. */
  remove(): void
}

/**
 * The processes' program as plain JavaScript: there may be sixty of them, and each would spend more time on
 * compiling than on its work. Where nothing can be written, they compile for themselves.
 */
export function makeProgram(): Program {
  const entry = join('demo', 'lives', 'entry')
  const folder = join(cache, `demo-${process.pid}`)
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  try {
    compileInto(folder)
    return { entry: join(folder, `${entry}.js`), execArgv: [], remove }
  } catch (error) {
    if (!isUnwritable(error)) throw error
    const execArgv = ['--import', import.meta.resolve('tsx/esm')]
    return { entry: join(examples, `${entry}.ts`), execArgv, remove: () => undefined }
  }
}

function compileInto(folder: string): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n')
  const names = readdirSync(examples, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  )
  for (const name of names) {
    const file = join(folder, name.replace(/\.ts$/, '.js'))
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, compile(readFileSync(join(examples, name), 'utf8')))
  }
}

const compilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  rewriteRelativeImportExtensions: true,
  verbatimModuleSyntax: true,
}

function compile(source: string): string {
  return ts.transpileModule(source, { compilerOptions }).outputText
}

function isUnwritable(error: unknown): boolean {
  return (
    error instanceof Error && 'code' in error && ['EACCES', 'EPERM', 'EROFS'].includes(String(error.code))
  )
}
