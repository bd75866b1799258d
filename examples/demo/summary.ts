import { counted, describeCheck, hasPassed, type Outcome, type Refused } from './report.ts'
import { shortName } from './corpus.ts'
import type { Paint } from './paint.ts'

/** One story in a few lines. */
export function describeBriefly(outcome: Outcome, paint: Paint): string[] {
  const verdict = hasPassed(outcome) ? paint('green', 'ok    ') : paint('red', 'FAILED')
  const name = shortName(outcome.candidate.file)
  if (outcome.kind === 'broken')
    return [`${verdict} ${name}`, ...indented(outcome.reason), ...indented(outcome.folder)]
  const { story, checks } = outcome
  const { killed, told, resumed, orderly, stateless } = story
  const { before, after, compaction, boundarySeqs } = resumed.report
  const sizes = `${before.sizeBytes} -> ${after.sizeBytes} bytes`
  const off = `${stateless.report.state}, resume ${stateless.report.resumeCode}`
  const failed = checks
    .filter((check) => check.outcome === 'FAILED')
    .map((check) => describeCheck(check, paint))
  return [
    `${verdict} ${paint('bold', name)}  ${(story.tookMs / 1000).toFixed(1)} s`,
    `    A ${killed.pid} killed, ${counted(told.durableSeq + 1, 'event')} durable, ${counted(killed.report.facts.length, 'fact')}`,
    `    B ${resumed.pid} boundary ${boundarySeqs.join(', ')}, compaction ${compaction.outcome}, ${sizes}`,
    `    D ${orderly.pid} boundary ${orderly.report.boundarySeqs.at(-1)}    C ${stateless.pid} ${off}`,
    ...failed,
    ...(failed.length > 0 ? indented(outcome.folder) : []),
  ]
}

/** All files at a glance. */
export function describeTable(
  outcomes: readonly Outcome[],
  refused: readonly Refused[],
  paint: Paint,
): string[] {
  const rows = outcomes.map((outcome) => rowOf(outcome))
  const heads = ['file', 'events', 'turns', 'facts', 'transcript', 'checks']
  const widths = heads.map((head, column) =>
    Math.max(head.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
  return [
    paint('bold', line(heads)),
    ...rows.map((row, index) => paint(hasPassed(outcomes[index] as Outcome) ? 'green' : 'red', line(row))),
    ...refused.map(({ file, refusal }) => `${shortName(file)}  refused: ${describeRefusal(refusal)}`),
  ]
}

function rowOf(outcome: Outcome): readonly string[] {
  const name = shortName(outcome.candidate.file)
  if (outcome.kind === 'broken') return [name, '', '', '', '', 'broken']
  const { killed, told, resumed } = outcome.story
  const { before, after } = resumed.report
  const okCount = outcome.checks.filter((check) => check.outcome === 'ok').length
  const countable = outcome.checks.filter((check) => check.outcome !== 'skipped').length
  const { turnCount, facts } = killed.report
  const percent = Math.round((100 * after.sizeBytes) / Math.max(1, before.sizeBytes))
  const share = `${percent} % of ${Math.round(before.sizeBytes / 1000)} KB`
  return [
    name,
    String(told.durableSeq + 1),
    String(turnCount),
    String(facts.length),
    share,
    `${okCount}/${countable}`,
  ]
}

function describeRefusal({ reason, line }: Refused['refusal']): string {
  return line === undefined ? reason : `line ${line}: ${reason}; ${line - 1} lines before it are intact`
}

function indented(text: string): string[] {
  return text.split('\n').map((each) => `    ${each}`)
}
