import { musts } from './musts.mjs'

const names = Object.keys(musts)

/** What was looked at and what did not hold, for one summarizer or for all. */
export function tally(samples) {
  const verdicts = samples.flatMap(({ rounds, cold }) => [...rounds.map(({ verdict }) => verdict), cold])
  const rounds = samples.flatMap((sample) => sample.rounds)
  const others = new Map()
  for (const { isApplied, outcome, why } of rounds) {
    const what = why ?? outcome
    if (!isApplied) others.set(what, (others.get(what) ?? 0) + 1)
  }
  const failures = Object.fromEntries(names.map((name) => [name, verdicts.flatMap((each) => each[name])]))
  return {
    roundCount: rounds.length,
    appliedCount: rounds.filter(({ isApplied }) => isApplied).length,
    others,
    factCount: verdicts.reduce((sum, { factCount }) => sum + factCount, 0),
    failures,
  }
}

/** One line for everything that must hold and does not. A run that looked at nothing has shown nothing. */
export function findBroken(samples) {
  const measured = samples.filter(({ isBaseline }) => !isBaseline)
  const { roundCount, appliedCount, factCount } = tally(measured)
  const broken = []
  if (roundCount === 0 || appliedCount === 0) broken.push('no compaction was applied')
  if (factCount === 0) broken.push('no pinned fact was looked at')
  for (const { policy, transcript, replicate, rounds, cold } of measured) {
    const where = `${policy}, ${transcript}, replicate ${replicate + 1}`
    for (const { compactions, verdict } of rounds)
      broken.push(...linesOf(verdict, `${where}, round ${compactions}`))
    broken.push(...linesOf(cold, `${where}, read again from the disk`))
  }
  return broken
}

function linesOf(verdict, where) {
  return names
    .filter((name) => verdict[name].length > 0)
    .map(
      (name) => `${where}: ${name}: ${JSON.stringify(verdict[name][0])} and ${verdict[name].length - 1} more`,
    )
}
