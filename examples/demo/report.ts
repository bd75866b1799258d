import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Check } from './checks.ts'
import { shortName, type Candidate } from './corpus.ts'
import type { Paint } from './paint.ts'
import { sessionId, type BracketNote } from './protocol.ts'
import type { Story } from './story.ts'

export type Readable = Extract<Candidate, { readonly kind: 'readable' }>
export type Refused = Extract<Candidate, { readonly kind: 'refused' }>

/** How the story of one file went. `broken`: it could not be told to its end. */
export type Outcome =
  | {
      readonly kind: 'told'
      readonly candidate: Readable
      readonly story: Story
      readonly checks: readonly Check[]
      readonly folder: string
    }
  | {
      readonly kind: 'broken'
      readonly candidate: Readable
      readonly reason: string
      readonly folder: string
    }

export function hasPassed(outcome: Outcome): boolean {
  return outcome.kind === 'told' && outcome.checks.every((check) => check.outcome !== 'FAILED')
}

/** One story from beginning to end. */
export function describeStory(
  { candidate, story, checks }: Extract<Outcome, { kind: 'told' }>,
  paint: Paint,
): string[] {
  return [
    ...describeFile(candidate, paint),
    '',
    ...describeKilled(story, paint),
    ...describeResumed(story, paint),
    ...describeOrderly(story, paint),
    ...describeStateless(story, paint),
    '',
    paint('bold', 'Checks'),
    ...checks.map((check) => describeCheck(check, paint)),
    '',
    paint('bold', 'Files'),
    ...describeFiles(story),
  ]
}

function describeFile({ file, reading }: Readable, paint: Paint): string[] {
  const { format, recordCount, stepCount, skipped } = reading
  const passed = [...skipped].map(([kind, count]) => `${count} ${kind}`).join(', ')
  return [
    paint('bold', shortName(file)),
    `  ${format}, ${counted(recordCount, 'record')}, ${counted(stepCount, 'event')}`,
    ...(passed === '' ? [] : [`  passed over: ${passed}`]),
  ]
}

function describeKilled({ killed, told }: Story, paint: Paint): string[] {
  const { report, pid } = killed
  const { facts, leftOutCount, turnCount, compactStartSeq, forkedAtSeq, brackets } = report
  return [
    life('A', pid, report.incarnation, paint),
    at('', `recorded     ${counted(turnCount, 'turn')}, durable through ${told.durableSeq}`),
    ...facts.map(({ text, seq }) => at(seq, `pinned       ${clipped(text)}`)),
    ...(leftOutCount === 0 ? [] : [at('', `${counted(leftOutCount, 'fact')} more did not fit`)]),
    ...(compactStartSeq === undefined
      ? [at('', 'too little to compact')]
      : [at(compactStartSeq, 'compact/start; its summarizer never answers')]),
    at(forkedAtSeq, 'forked here meanwhile'),
    at('', `open         ${brackets.map(describeBracket).join(', ') || 'nothing'}`),
    paint('red', at('', 'SIGKILL')),
  ]
}

function describeResumed({ resumed }: Story, paint: Paint): string[] {
  const { report, pid, exit } = resumed
  const { compaction, before, after } = report
  const was = `${before.messageCount} messages of ${before.sizeBytes} bytes`
  const is = `${after.messageCount} of ${after.sizeBytes}`
  const range = compaction.through === undefined ? '' : ` of ${compaction.from} to ${compaction.through}`
  return [
    tideMark(report.boundarySeqs.at(-1), paint),
    life('B', pid, report.incarnation, paint),
    at('', `found        ${report.brackets.map(describeBracket).join(', ') || 'nothing open'}`),
    at('', `in the fork  ${report.forkBrackets.map(describeBracket).join(', ') || 'nothing open'}`),
    at('', `compaction${range} ${compaction.outcome}: ${was}, now ${is}`),
    at(report.durableSeq, `one message more, durable; exit code ${exit.code}`),
  ]
}

function describeOrderly({ orderly }: Story, paint: Paint): string[] {
  const { report, pid, exit } = orderly
  const eventCount = report.untouched.at(-1)?.eventCount
  return [
    tideMark(report.boundarySeqs.at(-1), paint),
    life('D', pid, report.incarnation, paint),
    at('', `one message; opened twice more, ${eventCount} events before and after; exit code ${exit.code}`),
  ]
}

function describeStateless({ stateless }: Story, paint: Paint): string[] {
  const { report, pid, exit } = stateless
  const { eventCount, resumeCode } = report
  return [
    '',
    `${paint('bold', 'C')}  pid ${pid}  persistence ${report.state}`,
    at(
      '',
      `${eventCount} events in memory, ${stateless.touched.length} files touched, resume: ${resumeCode}`,
    ),
    at('', `exit code ${exit.code}`),
  ]
}

function life(letter: string, pid: number, incarnation: string, paint: Paint): string {
  return `${paint('bold', letter)}  pid ${pid}  incarnation ${incarnation}`
}

function tideMark(seq: number | undefined, paint: Paint): string {
  return paint('blue', `~~~~ ${seq ?? '?'} ~~ session/resumed ${'~'.repeat(48)}`)
}

function at(seq: number | '', what: string): string {
  return `${String(seq).padStart(8)}  ${what}`
}

function describeBracket({ bracket, seq, status }: BracketNote): string {
  return `${bracket} at ${seq} ${status}`
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function clipped(text: string): string {
  return text.length > 72 ? `${text.slice(0, 71).toWellFormed()}…` : text
}

export function describeCheck({ title, outcome, detail }: Check, paint: Paint): string {
  const colour = outcome === 'ok' ? 'green' : outcome === 'FAILED' ? 'red' : 'yellow'
  return `  ${paint(colour, outcome.padEnd(7))} ${title}${detail === undefined ? '' : ` (${detail})`}`
}

/** Where the bytes are, and how to look at them without us. */
function describeFiles({ root }: Story): string[] {
  const segments = segmentsOf(root)
  const [first = join(root, 'sessions', sessionId)] = segments
  const folder = join(first, '..')
  return [
    `  ${root}`,
    `  head -n 3 ${first}`,
    `  cat ${folder}/*.jsonl | jq -c 'select(.type == "session/resumed" or .type == "compact/start")'`,
  ]
}

/** The segments of the session, oldest first, wherever the storage put them. */
function segmentsOf(root: string): string[] {
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.jsonl'),
  )
  return names
    .filter((name) => !name.includes(`${sessionId}-`))
    .sort()
    .map((name) => join(root, name))
}
