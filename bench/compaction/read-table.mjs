import { count, table } from './table.mjs'

const kindsShownMax = 12

/** What was read of the real transcripts: records that are no part of a conversation are counted, by kind. */
export function readTable(transcripts) {
  const real = transcripts.filter(({ read }) => read !== undefined)
  if (real.length === 0) return ''
  const rows = real.map(({ name, read: { format, recordCount, stepCount, skipped } }) => [
    name,
    format,
    count(recordCount),
    count(stepCount),
    passedOver(skipped),
  ])
  return table(['transcript', 'kind', 'records', 'steps', 'passed over'], rows)
}

function passedOver(skipped) {
  if (skipped.size === 0) return 'nothing'
  const byCount = [...skipped].sort(([, one], [, other]) => other - one)
  const shown = byCount.slice(0, kindsShownMax)
  const rest = byCount.slice(kindsShownMax).reduce((sum, [, times]) => sum + times, 0)
  // The names of kinds come from the files.
  const told = shown.map(([kind, times]) => `${kind.replaceAll(/[|\n]/g, ' ')} ${count(times)}`)
  return [...told, ...(rest > 0 ? [`others ${count(rest)}`] : [])].join(', ')
}
