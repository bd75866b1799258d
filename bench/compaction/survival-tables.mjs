import { depths, kinds } from './fact.mjs'
import { exactShare } from './must-table.mjs'
import { mean, spread } from './numbers.mjs'
import { percent, table } from './table.mjs'
import { tally } from './verdict.mjs'

/** Those that a curve says something of: where nothing is replaced, everything survives. */
function policiesIn(samples) {
  const policies = [...new Set(samples.map(({ policy }) => policy))]
  return policies.filter((policy) => {
    const chosen = samples.filter((sample) => sample.policy === policy)
    return chosen[0].isBaseline || tally(chosen).appliedCount > 0
  })
}

/** Mean and standard deviation, over the samples, of the share of their facts that survived. */
function cell(samples, { policy, mark, isCounted = () => true, survives = ({ isShown }) => isShown }) {
  const shares = samples
    .filter((sample) => sample.policy === policy)
    .map(({ rounds }) => {
      const { survival } = rounds.find(({ compactions }) => compactions === mark)
      const counted = survival.filter(isCounted)
      return counted.filter(survives).length / counted.length
    })
  return `${percent(mean(shares))} ± ${Math.round(spread(shares) * 100)}`
}

export function survivalTable(samples, marks) {
  const rows = policiesIn(samples).map((policy) => [
    policy,
    ...marks.map((mark) => cell(samples, { policy, mark })),
  ])
  const pinned = ['pinned facts, whatever the summarizer', ...marks.map((mark) => pinnedShare(samples, mark))]
  return table(['facts in the view', ...headsOf(marks)], [pinned, ...rows])
}

/** Of the pinned ones, to compare with: those that stood, of all that were looked at after so many compactions. */
function pinnedShare(samples, mark) {
  const verdicts = samples
    .filter(({ isBaseline }) => !isBaseline)
    .map(({ rounds }) => rounds.find(({ compactions }) => compactions === mark).verdict)
  const factCount = verdicts.reduce((sum, verdict) => sum + verdict.factCount, 0)
  return exactShare(
    verdicts.flatMap(({ exact }) => exact),
    factCount,
  )
}

/** A view without a log behind it has nothing to recall from. */
export function recallTable(samples, marks) {
  const measured = samples.filter(({ isBaseline }) => !isBaseline)
  const survives = ({ isReachable }) => isReachable
  const rows = policiesIn(measured).map((policy) => [
    policy,
    ...marks.map((mark) => cell(measured, { policy, mark, survives })),
  ])
  return table(['in the view or by `recall`', ...headsOf(marks)], rows)
}

export function depthTable(samples, marks) {
  const rows = policiesIn(samples).flatMap((policy) =>
    depths.map((depth) => {
      const isCounted = (fact) => fact.depth === depth
      return [policy, percent(depth), ...marks.map((mark) => cell(samples, { policy, mark, isCounted }))]
    }),
  )
  return table(['', 'depth', ...headsOf(marks)], rows)
}

export function kindTable(samples, mark) {
  const rows = policiesIn(samples).map((policy) => [
    policy,
    ...kinds.map((kind) => cell(samples, { policy, mark, isCounted: (fact) => fact.kind === kind })),
  ])
  return table([`after ${mark}`, ...kinds], rows)
}

const headsOf = (marks) => marks.map((mark) => `after ${mark}`)
