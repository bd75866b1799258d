import { existsSync } from 'node:fs'
import { appendFile, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** The samples of the last run, one a line, so that a run that is cut short is not lost. */
export class SampleRecord {
  constructor(folder, { compaction }) {
    this.path = join(folder, compaction ? 'samples.jsonl' : 'samples-without-compaction.jsonl')
  }

  clear() {
    return rm(this.path, { force: true })
  }

  add(sample) {
    return appendFile(this.path, `${JSON.stringify(sample)}\n`)
  }

  /** What was measured again counts in place of what was measured before. */
  async read() {
    if (!existsSync(this.path)) return []
    const lines = (await readFile(this.path, 'utf8')).trimEnd().split('\n')
    const samples = lines.map((line) => JSON.parse(line))
    const keyOf = ({ task, system, size, round }) => [task, system, size, round].join()
    return [...new Map(samples.map((sample) => [keyOf(sample), sample])).values()]
  }
}
