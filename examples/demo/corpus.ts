import { existsSync, readdirSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Reading } from '../readers/reading.ts'
import { TranscriptRefused } from '../readers/refusal.ts'
import { readTranscript } from '../readers/transcript.ts'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const sample = join(repository, 'examples', 'transcripts', 'berths.jsonl')
const shared = join(repository, '..', 'shared', 'data')

/** What a run is about, and where that choice came from. */
export interface Corpus {
  readonly source: 'named' | 'shared' | 'sample'
  readonly files: readonly string[]
}

/** The files named, else the shared ones where they are, else the sample. */
export function chooseCorpus(named: readonly string[]): Corpus {
  if (named.length > 0) return { source: 'named', files: named }
  const found = ['claude-code', 'pi'].flatMap((kind) => jsonLinesIn(join(shared, kind)))
  return found.length > 0 ? { source: 'shared', files: found } : { source: 'sample', files: [sample] }
}

function jsonLinesIn(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .map((name) => join(folder, name))
}

export type Candidate =
  | {
      readonly kind: 'readable'
      readonly file: string
      readonly reading: Pick<Reading, 'format' | 'recordCount' | 'skipped'> & { readonly stepCount: number }
    }
  | { readonly kind: 'refused'; readonly file: string; readonly refusal: TranscriptRefused }

/** Reads a file to see whether it can be used; the processes of the story read it again for themselves. */
export function examine(file: string): Candidate {
  try {
    const { format, recordCount, skipped, steps } = readTranscript(file)
    if (steps.length === 0) throw new TranscriptRefused('foreign', file, { reason: 'holds no conversation' })
    return { kind: 'readable', file, reading: { format, recordCount, skipped, stepCount: steps.length } }
  } catch (error) {
    if (!(error instanceof TranscriptRefused)) throw error
    return { kind: 'refused', file, refusal: error }
  }
}

/** A file as a person names it: from where they stand when that is short, else its last two parts. */
export function shortName(file: string): string {
  const fromHere = relative(process.cwd(), file)
  return fromHere.startsWith('..') ? join(basename(join(file, '..')), basename(file)) : fromHere
}
