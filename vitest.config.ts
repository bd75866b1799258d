import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig, type ViteUserConfig } from 'vitest/config'

const source = (path: string) => fileURLToPath(new URL(`./packages/${path}`, import.meta.url))

/** A decision of the sources that is taken wrongly is planted in the sources. */
const planted = 'test/**/campaigns/*-source.test.ts'
const campaigns = 'test/**/campaigns/**/*.test.ts'
/** What says the same on every Node, and takes its time. */
const anyNode = ['bench', 'packaging', 'session-persistence/scale', 'workspace'].map(
  (folder) => `test/${folder}/**/*.test.ts`,
)

/** Runs the sources; child processes run the built packages through node_modules. */
export const onSources = {
  resolve: {
    alias: [
      { find: /^@tidemark\/([^/]+)$/, replacement: source('$1/src/index.ts') },
      { find: /^@tidemark\/([^/]+)\/(cordis|deepseek)$/, replacement: source('$1/src/$2.ts') },
      { find: /^@tidemark\/([^/]+)\/([^/]+)$/, replacement: source('$1/src/$2/index.ts') },
    ],
  },
} satisfies ViteUserConfig

/** What every run has in common. */
export const usual = {
  test: {
    pool: 'forks',
    // One more than there are cores: many wait for the disk.
    maxWorkers: 3,
    retry: 0,
    passWithNoTests: false,
    // A bound for what hangs, and not a measure: a busy machine is several times slower.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    setupFiles: [fileURLToPath(new URL('test/after-each.ts', import.meta.url))],
    reporters: ['default'],
  },
} satisfies ViteUserConfig

/**
 * Runs the packages as they are built, in two thirds of the time: sources that are transformed for a test look every
 * import up at each use. Builds them first where they are out of date.
 */
export const onPackages = { globalSetup: 'scripts/fresh-build.mjs' }

export default defineConfig({
  ...usual,
  test: {
    ...usual.test,
    // What isolates its files begins first, and those keep a core busy for minutes. The others, of which none
    // leaves anything behind, share what they import.
    projects: [
      {
        extends: true,
        test: {
          ...onPackages,
          name: 'campaigns',
          include: [campaigns],
          exclude: [...configDefaults.exclude, planted],
        },
      },
      { extends: true, ...onSources, test: { name: 'planted', include: [planted] } },
      {
        extends: true,
        ...onSources,
        test: {
          name: 'tests',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, campaigns, ...anyNode],
          isolate: false,
        },
      },
      { extends: true, ...onSources, test: { name: 'any-node', include: anyNode, isolate: false } },
    ],
  },
})
