import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { TranscriptRefused } from '../../examples/readers/refusal.ts'
import { readTranscript } from '../../examples/readers/transcript.ts'
import { shapes } from './conversation.mjs'

/**
 * What is compacted: `{ name, source, steps, shape, read? }`. A real one goes on in generated turns of its shape where it is
 * too short. `notices`: what was left out, and why.
 */
export function findTranscripts(folder) {
  const generated = Object.keys(shapes).map((name) => ({
    name: `generated: ${name}`,
    source: 'generated',
    steps: [],
    shape: shapes[name],
  }))
  const { transcripts, notices } = findReal(folder)
  return { transcripts: [...transcripts, ...generated], notices }
}

function findReal(folder) {
  if (!existsSync(folder)) {
    return { transcripts: [], notices: [`no real transcripts: ${folder} is not there`] }
  }
  const notices = []
  const transcripts = []
  for (const path of withoutBeginnings(filesIn(folder))) {
    const name = relative(folder, path)
    const reading = read(path)
    if (reading.steps?.length > 0) transcripts.push(realOne(name, reading))
    else notices.push(`${name}: ${reading.reason ?? 'holds no conversation'}`)
  }
  return { transcripts, notices }
}

/** `read`: how much of the file there is in it; what was passed over is counted by kind. */
function realOne(name, { format, recordCount, steps, skipped }) {
  const shape = format === 'memory-bank' ? shapes.talk : shapes.tools
  return {
    name,
    source: 'real',
    steps,
    shape,
    read: { format, recordCount, stepCount: steps.length, skipped },
  }
}

function read(path) {
  try {
    return readTranscript(path)
  } catch (error) {
    if (!(error instanceof TranscriptRefused)) throw error
    return { reason: error.reason }
  }
}

function filesIn(folder) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.jsonl?$/.test(name))
    .sort()
    .map((name) => join(folder, name))
}

/** A session that was captured several times counts once: a file that another one begins with is not used. */
function withoutBeginnings(paths) {
  const files = paths.map((path) => ({ path, bytes: readFileSync(path) }))
  const isBeginning = ({ path, bytes }) =>
    files.some(
      (other) =>
        other.path !== path && other.bytes.length > bytes.length && other.bytes.indexOf(bytes, 0) === 0,
    )
  return files.filter((file) => !isBeginning(file)).map(({ path }) => path)
}
