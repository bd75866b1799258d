import { describe, expect, it } from 'vitest'
import { acts } from './acts.ts'
import { sweep } from './fault-sweep.ts'

describe('every fault of a medium, once and for good, at every call', () => {
  it.each(Object.entries(acts))('in %s is told, loses nothing, and leaves nothing open', async (_, act) => {
    expect((await sweep(act, { every: 1 })).size).toBeGreaterThan(15)
  })
})
