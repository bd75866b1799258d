import { defineConfig } from 'vitest/config'
import { onSources, usual } from '../../../vitest.config.ts'

const tests = 'test/session-persistence/recovery'

/**
 * The recovery rule alone: `npm run test:coverage` measures its tests, `npm run test:mutants` plants faults in it.
 * Without its property tests, which find in one run what they do not find in the next.
 */
export default defineConfig({
  ...usual,
  ...onSources,
  test: {
    ...usual.test,
    include: [`${tests}/*.test.ts`],
    exclude: [`${tests}/*.property.test.ts`],
    coverage: {
      include: ['recover', 'remains'].map((name) => `packages/session-persistence/src/journal/${name}.ts`),
      reportsDirectory: 'coverage/recovery',
      reporter: ['text'],
      thresholds: { 100: true },
    },
  },
})
