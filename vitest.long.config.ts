import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { onPackages, usual } from './vitest.config.ts'

const hourMs = 3_600_000

/** The long run: campaigns that take minutes each. `npm run test:long` runs them; `npm test` does not. */
export default defineConfig({
  ...usual,
  test: {
    ...usual.test,
    ...onPackages,
    include: ['test/**/*.long.ts'],
    // A campaign is one file and one thread.
    maxWorkers: availableParallelism(),
    testTimeout: 12 * hourMs,
    hookTimeout: hourMs,
  },
})
