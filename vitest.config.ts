import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const source = (path: string) => fileURLToPath(new URL(`./packages/${path}`, import.meta.url))

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
    retry: 0,
    passWithNoTests: false,
    testTimeout: 20_000,
    reporters: ['default'],
  },
})
