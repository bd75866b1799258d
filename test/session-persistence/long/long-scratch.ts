import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder for a whole file of tests: in the run's own folder, so that whatever a test leaves is found there. */
export function longScratch(): string {
  return mkdtempSync(join(process.env.TIDEMARK_LONG_FOLDER ?? tmpdir(), 'tidemark-long-'))
}
