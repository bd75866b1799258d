import { count, table } from './table.mjs'
import { tally } from './verdict.mjs'

const head = [
  'summarizer',
  'compactions',
  'applied',
  'not applied',
  'pinned facts looked at',
  'exact',
  'invented pins',
  'over budget',
  'broken pairs',
]

/** Everything that must hold, one summarizer a row. Each row counts the look at what was read from the disk again. */
export function mustTable(samples) {
  const measured = samples.filter(({ isBaseline }) => !isBaseline)
  const policies = [...new Set(measured.map(({ policy }) => policy))]
  const rows = policies.map((policy) => [policy, measured.filter((sample) => sample.policy === policy)])
  return table(
    head,
    [...rows, ['**all**', measured]].map(([name, chosen]) => cells(name, tally(chosen))),
  )
}

function cells(name, { roundCount, appliedCount, others, factCount, failures }) {
  const { exact, ...rest } = failures
  const why = [...others].map(([what, times]) => `${what} ${count(times)}`).join(', ')
  const shown = [rest.invented, rest.overBudget, rest.broken].map(({ length }) => zero(length))
  return [
    name,
    count(roundCount),
    count(appliedCount),
    why,
    count(factCount),
    exactShare(exact, factCount),
    ...shown,
  ]
}

/** Never rounded up to 100 %. */
export function exactShare({ length }, factCount) {
  if (factCount === 0) return 'none'
  if (length === 0) return '100 %'
  return `**${(Math.floor((1 - length / factCount) * 1e5) / 1e3).toFixed(3)} %**`
}

const zero = (length) => (length === 0 ? '0' : `**${count(length)}**`)
