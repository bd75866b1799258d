import { describe, it } from 'vitest'
import { expectNoFinding } from './crash-states.ts'

describe('a crash at any point of a story, with strict durability', () => {
  it('loses nothing that was acknowledged, and every session goes on', () => expectNoFinding('strict'))
})
