import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeAfterTest } from '../clean-up.ts'

/** A folder of its own, gone after the test. */
export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-'))
  removeAfterTest(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
