import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const source = (path: string) => fileURLToPath(new URL(`./packages/${path}`, import.meta.url))

/** What keeps a core busy for minutes begins first: at the end, one core would wait for it. */
class CampaignsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isCampaign = ({ moduleId }: TestSpecification): boolean => moduleId.includes('/campaigns/')
    return [...sorted.filter(isCampaign), ...sorted.filter((file) => !isCampaign(file))]
  }
}

export default defineConfig({
  resolve: {
    // In-process tests run the sources; child processes run the built packages through node_modules.
    alias: [
      { find: /^@tidemark\/([^/]+)$/, replacement: source('$1/src/index.ts') },
      { find: /^@tidemark\/([^/]+)\/(cordis|deepseek)$/, replacement: source('$1/src/$2.ts') },
      { find: /^@tidemark\/([^/]+)\/([^/]+)$/, replacement: source('$1/src/$2/index.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // Both cores: the campaigns keep one busy for minutes.
    maxWorkers: 2,
    sequence: { sequencer: CampaignsFirst },
    retry: 0,
    passWithNoTests: false,
    testTimeout: 20_000,
    reporters: ['default'],
  },
})
