import { mean, quantileOf } from './numbers.mjs'
import { count, millis, table } from './table.mjs'

const byDefault = 'extractive'
const shortest = 'drops all'

/** What each summarizer's compactions took, where they were applied. */
export function costTable(samples) {
  const policies = [...new Set(samples.map(({ policy }) => policy))]
  const rows = policies
    .map((policy) => [policy, appliedIn(samples, policy)])
    .filter(([, applied]) => applied.length > 0)
    .map(([policy, applied]) => [policy, ...timesOf(applied), ...bytesOf(applied), ...pinsOf(applied)])
  const head = [
    'summarizer',
    'ms p50',
    'ms p95',
    'JSON bytes added, p50',
    'most',
    'tokens of pins',
    'of each',
  ]
  return table(head, rows)
}

/** The same after each number of compactions: what grows with the history, and what does not. */
export function growthTable(samples) {
  const numbers = [...new Set(samples.flatMap(({ rounds }) => rounds.map(({ compactions }) => compactions)))]
  const rows = numbers.flatMap((compactions) => {
    const own = appliedIn(samples, byDefault, compactions)
    const least = appliedIn(samples, shortest, compactions)
    if (own.length === 0 || least.length === 0) return []
    const shadowed = quantileOf(pick(own, 'shadowed'), 0.5)
    const added = quantileOf(
      own.map((round) => round.added.json),
      0.5,
    )
    return [
      [
        compactions,
        ...timesOf(own),
        count(shadowed),
        count(added),
        count(Math.max(...own.map((round) => round.added.json))),
        count(
          quantileOf(
            own.map((round) => round.added.onDisk),
            0.5,
          ),
        ),
        count(
          quantileOf(
            least.map((round) => round.added.json),
            0.5,
          ),
        ),
        `1 : ${count(shadowed / added)}`,
      ],
    ]
  })
  return table(
    [
      'compaction',
      'ms p50',
      'ms p95',
      'JSON bytes shadowed, p50',
      'JSON bytes added, p50',
      'most',
      'on disk, p50',
      `added by "${shortest}", p50`,
      'added : shadowed',
    ],
    rows,
  )
}

/** First against last: how the median time grew, and how much the history did. */
export function growthLine(samples) {
  const last = Math.max(...samples.flatMap(({ rounds }) => rounds.map(({ compactions }) => compactions)))
  const [first, end] = [2, last].map((compactions) => appliedIn(samples, byDefault, compactions))
  if (last <= 2 || first.length === 0 || end.length === 0) return ''
  const ratio = (of) => quantileOf(end.map(of), 0.5) / quantileOf(first.map(of), 0.5)
  const [time, history] = [ratio(({ millis: each }) => each), ratio(({ shadowed }) => shadowed)]
  return (
    `The first compaction replaces the most messages; from the second to compaction ${last} the history grew ` +
    `${history.toFixed(1)} times, the median time ${time.toFixed(2)} times, ` +
    `the bytes added ${ratio(({ added }) => added.json).toFixed(2)} times.`
  )
}

function appliedIn(samples, policy, compactions) {
  return samples
    .filter((sample) => sample.policy === policy && !sample.isBaseline)
    .flatMap(({ rounds }) => rounds)
    .filter((round) => round.isApplied && (compactions ?? round.compactions) === round.compactions)
}

const pick = (rounds, name) => rounds.map((round) => round[name])

function timesOf(rounds) {
  return [0.5, 0.95].map((share) => millis(quantileOf(pick(rounds, 'millis'), share)))
}

function bytesOf(rounds) {
  const bytes = rounds.map(({ added }) => added.json)
  return [count(quantileOf(bytes, 0.5)), count(Math.max(...bytes))]
}

function pinsOf(rounds) {
  const shown = rounds.filter(({ pins }) => pins.count > 0)
  if (shown.length === 0) return ['', '']
  const tokens = mean(shown.map(({ pins }) => pins.tokens))
  return [count(tokens), (tokens / mean(shown.map(({ pins }) => pins.count))).toFixed(1)]
}
