import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest'
import { Shelf, isUnreachable, type Project } from './project.ts'

type Installed = { bare: Project; cordis: Project; deepseek: Project }

const consumer = new URL('./consumer.ts', import.meta.url)
const wrongOption = `
// @ts-expect-error no such option
export const wrong = (model: LanguageModel) => aiSdkSummarizer({ model, maxTries: 3 })
`
const setUpMsMax = 300_000
const compileMsMax = 180_000

async function examplesOf(path: string): Promise<string[]> {
  const readme = await readFile(new URL(`../../${path}`, import.meta.url), 'utf8')
  return [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, text = '']) => text)
}

describe('the packed packages', () => {
  let shelf: Shelf | undefined
  let installed: Installed | undefined

  beforeAll(async () => {
    try {
      shelf = await Shelf.pack()
      const bare = shelf.install('bare')
      const cordis = shelf.install('cordis', 'cordis')
      const deepseek = shelf.install('deepseek', '@deepseek-ai/cordis')
      installed = { bare: await bare, cordis: await cordis, deepseek: await deepseek }
    } catch (error) {
      if (!isUnreachable(error)) throw error
      console.warn(
        'packaging: no registry and no cache to install from, so the packed packages were not tried',
      )
    }
  }, setUpMsMax)

  afterAll(() => shelf?.clear())

  const projectsOr = (context: TestContext): Installed =>
    installed ?? context.skip('no registry and no cache to install from')

  it('import in every entry without any host installed', async (context) => {
    const { bare } = projectsOr(context)
    const imports = shelf?.specifiers.map((each) => `await import(${JSON.stringify(each)})`) ?? []
    expect(imports.length).toBeGreaterThan(0)
    expect(await bare.runModule(`${imports.join('\n')}\nconsole.log('imported')`)).toBe('imported\n')
  })

  it('are one copy each, so that classes and marks are shared', async (context) => {
    const { bare } = projectsOr(context)
    const text = `
      import { createRequire } from 'node:module'
      const at = (from) => createRequire(import.meta.resolve(from)).resolve('@tidemark/session-core/package.json')
      console.log(at('@tidemark/session-persistence') === at('@tidemark/compaction'))
    `
    expect(await bare.runModule(text)).toBe('true\n')
  })

  it(
    'compile in a plugin for cordis, and in the examples of the README as they stand there',
    async (context) => {
      const { cordis } = projectsOr(context)
      const examples = await examplesOf('README.md')
      expect(examples).toHaveLength(2)
      expect(await cordis.typeCheck(await readFile(consumer, 'utf8'), ...examples)).toBe('')
    },
    compileMsMax,
  )

  it(
    'compile in the example of the summarizer, and refuse an option that it does not have',
    async (context) => {
      const { cordis } = projectsOr(context)
      const examples = await examplesOf('packages/summarizer-ai-sdk/README.md')
      expect(examples).toHaveLength(1)
      // The declarations of the SDK itself do not hold under our strictest settings.
      expect(await cordis.typeCheckBesideForeign(`${examples[0]}\n${wrongOption}`)).toBe('')
    },
    compileMsMax,
  )

  it(
    'compile in a plugin for @deepseek-ai/cordis',
    async (context) => {
      const { deepseek } = projectsOr(context)
      const text = await readFile(consumer, 'utf8')
      const forked = text.replaceAll("/cordis'", "/deepseek'").replace("'cordis'", "'@deepseek-ai/cordis'")
      expect(await deepseek.typeCheck(forked)).toBe('')
    },
    compileMsMax,
  )
})
