import type { CampaignResult } from '../finding.ts'
import { runner } from './runner.ts'

/** A campaign takes minutes where a test takes milliseconds. */
const timeoutMs = 1_800_000

export interface TestCampaignTerms {
  /** Figures that a campaign comes to, or goes beyond: each a number, or the name of another figure. */
  readonly atLeast?: Readonly<Record<string, number | string>>
}

/**
 * Registers a campaign as a vitest test: it prints its figures, and passes when it found nothing, and went as far as it
 * was to go.
 */
export function testCampaign(
  title: string,
  run: () => Promise<CampaignResult>,
  { atLeast = {} }: TestCampaignTerms = {},
): void {
  const { it, expect } = runner()
  it(title, { timeout: timeoutMs }, async () => {
    const { figures, findings, findingsCount } = await run()
    console.info(`${title}: ${JSON.stringify(figures)}`)
    expect(findings).toEqual([])
    expect(findingsCount).toBe(0)
    for (const [name, least] of Object.entries(atLeast)) {
      const wanted = typeof least === 'number' ? least : (figures[least] ?? Infinity)
      expect(figures[name] ?? 0, `the figure ${name}`).toBeGreaterThanOrEqual(wanted)
    }
  })
}
