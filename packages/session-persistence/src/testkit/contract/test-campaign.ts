import type { CampaignResult } from '../finding.ts'
import { runner } from './runner.ts'

/** A campaign takes minutes where a test takes milliseconds. */
const timeoutMs = 1_800_000

/** Registers a campaign as a vitest test: it prints its figures, and passes when it found nothing. */
export function testCampaign(title: string, run: () => Promise<CampaignResult>): void {
  const { it, expect } = runner()
  it(title, { timeout: timeoutMs }, async () => {
    const { figures, findings, findingsCount } = await run()
    console.info(`${title}: ${JSON.stringify(figures)}`)
    expect(findings).toEqual([])
    expect(findingsCount).toBe(0)
  })
}
