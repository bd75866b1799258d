import { describe, expect, it } from 'vitest'
import { acts } from './acts.ts'
import { sweep } from './fault-sweep.ts'

// A prime: no kind of fault, and neither once nor for good, falls through. All of them: `fault-sweep.long.ts`.
const every = 11

describe('a medium that fails, once or for good, in one of the ways that a system has', () => {
  const tried = new Set<string>()

  it.each(Object.entries(acts))(
    'in %s is told, loses nothing that was acknowledged, and leaves nothing open',
    async (_, act) => {
      const names = await sweep(act, { every })
      expect(names.size).toBeGreaterThan(5)
      for (const name of names) tried.add(name)
    },
  )

  it('is tried in every way: refused, full, read-only, interrupted, short, and failed syncs and closes', () => {
    // Eleven kinds of faults, each once and for good.
    expect(tried.size).toBe(22)
  })
})
