import { JournalStorage, type JournalPort } from '@tidemark/session-persistence/journal'
import { crashCampaign } from '@tidemark/session-persistence/testkit'
import { expect } from 'vitest'
import { countFrom, tellFigures } from './figures.ts'

/** States of both durabilities together: each of the two files that use this tries half of them. */
const states = countFrom('TIDEMARK_LONG_STATES', 1_000_000)

export async function expectNoFinding(durability: 'lazy' | 'strict'): Promise<void> {
  const statesMax = Math.ceil(states / 2)
  const open = (port: JournalPort) => new JournalStorage({ root: '/journal', port, durability })
  const result = await crashCampaign({ open }, { seed: 1, statesMax, durability })
  const { figures, findings, findingsCount } = result
  tellFigures(`crash states, ${durability}`, { ...figures, findings: findingsCount })
  expect(findings).toEqual([])
  expect(findingsCount).toBe(0)
  expect(figures.states).toBeGreaterThanOrEqual(statesMax)
}
