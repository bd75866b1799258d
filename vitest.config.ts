import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig, type ViteUserConfig } from 'vitest/config'

const source = (path: string) => fileURLToPath(new URL(`./packages/${path}`, import.meta.url))

const campaigns = 'test/**/campaigns/**/*.test.ts'

/** What every run has in common. */
export const usual = {
  resolve: {
    // In-process tests run the sources; child processes run the built packages through node_modules.
    alias: [
      { find: /^@tidemark\/([^/]+)$/, replacement: source('$1/src/index.ts') },
      { find: /^@tidemark\/([^/]+)\/(cordis|deepseek)$/, replacement: source('$1/src/$2.ts') },
      { find: /^@tidemark\/([^/]+)\/([^/]+)$/, replacement: source('$1/src/$2/index.ts') },
    ],
  },
  test: {
    pool: 'forks',
    // One more than there are cores: many wait for the disk.
    maxWorkers: 3,
    retry: 0,
    passWithNoTests: false,
    // A bound for what hangs, and not a measure: a busy machine is several times slower.
    testTimeout: 60_000,
    reporters: ['default'],
  },
} satisfies ViteUserConfig

export default defineConfig({
  ...usual,
  test: {
    ...usual.test,
    // What isolates its files begins first, and those keep a core busy for minutes. The others, of which none
    // leaves anything behind, share what they import.
    projects: [
      { extends: true, test: { name: 'campaigns', include: [campaigns] } },
      {
        extends: true,
        test: {
          name: 'tests',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, campaigns],
          isolate: false,
        },
      },
    ],
  },
})
