import { readFileSync } from 'node:fs'
import { compileFunction } from 'node:vm'
import * as kit from '@tidemark/session-persistence/testkit'
import ts from 'typescript'
import { TinyStorage } from './tiny-storage.ts'

/** As an author would write it: opened on a root and a port, of which the root is always the same. */
class MyStorage extends TinyStorage {
  constructor({ port }: { readonly root: string; readonly port: kit.SimulatedDisk }) {
    super(port)
  }
}

const page = readFileSync(new URL('../../../docs/testkit.md', import.meta.url), 'utf8')
const [, lines] = /^## Ten lines\n.*?^```ts\n(.*?)^```$/ms.exec(page) ?? []
if (lines === undefined) throw new TypeError('docs/testkit.md has no ten lines')

/** What the lines import, by the names that they give it. */
const imported: Readonly<Record<string, unknown>> = {
  "* as kit from '@tidemark/session-persistence/testkit'": kit,
  "{ MyStorage } from '../src/my-storage.ts'": MyStorage,
}

/** The lines without their imports, and with a fiftieth of what they try. */
const body = lines
  .split('\n')
  .filter((line) => !Object.keys(imported).some((each) => line === `import ${each}`))
  .join('\n')
  .replaceAll(/\b\d+_000\b/g, (figure) => String(Number(figure.replace('_', '')) / 50))

const { outputText } = ts.transpileModule(body, {
  compilerOptions: { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext },
})

// What they register are the tests of this file: an import that is not known fails it, and so does another name.
compileFunction(outputText, ['kit', 'MyStorage'])(kit, MyStorage)
