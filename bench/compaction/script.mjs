import { o200k } from '@tidemark/compaction'
import { Conversation, proseLine } from './conversation.mjs'
import { hostileText } from './order.mjs'
import { textOf } from './view.mjs'

/** What is there before the first compaction, and what comes before each further one, as shares of the context. */
const baseShare = 2
const roundShare = 1 / 4
const turnsAtOnce = 8
const repinnedAt = [3, 8, 13]
const unpinnedAt = [5]

/**
 * What happens before each compaction: a list of actions for each round. The first round is the transcript's beginning
 * with everything planted in it; each later one is what the transcript says next.
 *
 * The same seed gives the same script.
 */
export function writeScript({ steps: told, shape }, { random, facts, contextTokensMax, compactions }) {
  const steps = [...told]
  const sizes = { base: baseShare * contextTokensMax, round: roundShare * contextTokensMax }
  const ends = grown(steps, { shape, random, sizes, compactions })
  const [baseEnd] = ends
  const rounds = [plantedIn(steps.slice(0, baseEnd), { random, facts })]
  for (let round = 1; round < compactions; round++) {
    const next = steps.slice(ends[round - 1], ends[round]).map((step) => ({ kind: 'step', step }))
    rounds.push([...meanwhile(round, facts, random), ...aroundCall(round, next)])
  }
  return rounds
}

/** Adds turns until there is enough for all rounds. Gives the ends of these. */
function grown(steps, { shape, random, sizes, compactions }) {
  const conversation = new Conversation(steps, shape, random)
  let ends = endsOf(steps, sizes, compactions)
  if (ends.length < compactions) conversation.close()
  while (ends.length < compactions) {
    for (let turn = 0; turn < turnsAtOnce; turn++) conversation.addTurn()
    ends = endsOf(steps, sizes, compactions)
  }
  return ends
}

/** Where rounds end: after a step or turn, with no call open. As counts of steps. */
function endsOf(steps, { base, round }, countMax) {
  const ends = []
  let due = base
  for (const { index, sizeSoFar } of placesIn(steps)) {
    if (sizeSoFar < due) continue
    ends.push(index)
    due = sizeSoFar + round
    if (ends.length === countMax) break
  }
  return ends
}

function* placesIn(steps) {
  const open = new Set()
  let sizeSoFar = 0
  for (const [position, step] of steps.entries()) {
    sizeSoFar += sizeOf(step)
    if (step.type === 'tool/call') open.add(position)
    if (step.type === 'tool/result') open.delete(step.callIndex)
    // What a turn left open is over with it.
    if (step.type === 'turn/end') open.clear()
    const isEnd = step.type === 'step/end' || step.type === 'turn/end'
    if (isEnd && open.size === 0) yield { index: position + 1, sizeSoFar }
  }
}

const known = new WeakMap()

/** Tokens, roughly; a picture takes few, however large it is. */
function sizeOf(step) {
  if (!known.has(step)) known.set(step, o200k.count(textOf(withoutFiles(step.data))))
  return known.get(step)
}

function withoutFiles({ parts, ...data }) {
  return { ...data, parts: parts?.filter(({ type }) => type !== 'file') }
}

/** The steps, with each fact at the place that is nearest to its depth, and an order to summarizers in the middle. */
function plantedIn(steps, { random, facts }) {
  const places = [...placesIn(steps)]
  const whole = places.at(-1).sizeSoFar
  const distance = (place, depth) => Math.abs(place.sizeSoFar / whole - depth)
  const nearest = (depth) =>
    places.reduce((best, place) => (distance(place, depth) < distance(best, depth) ? place : best))
  const planted = new Map()
  const plant = (depth, actions) => {
    const { index } = nearest(depth)
    planted.set(index, [...(planted.get(index) ?? []), ...actions])
  }
  for (const fact of facts) plant(fact.depth, [plantingOf(fact, random)])
  plant(0.4, [{ kind: 'tool', text: hostileText(random) }])
  return steps.flatMap((step, index) => [{ kind: 'step', step }, ...(planted.get(index + 1) ?? [])])
}

/** A plain fact stands in a person's message as a labelled one does: on a line of its own, amid others. */
function plantingOf(fact, random) {
  if (fact.mode === 'pin') return { kind: 'pin', fact }
  const lines = [unquoting(random), unquoting(random)]
  lines.splice(random.between(0, 2), 0, fact.text)
  return { kind: 'say', fact, parts: [{ type: 'text', author: 'human', text: lines.join('\n') }] }
}

/** The text has code in it, which is cut anywhere: its beginning would quote what comes after it. */
function unquoting(random) {
  return proseLine(random, random.between(40, 90)).replaceAll('`', '')
}

/**
 * A call that takes long: what happens meanwhile stands between it and its result, and some are live during a
 * compaction. What answers in a later turn is late.
 */
function aroundCall(round, next) {
  const middle = Math.floor(next.length / 2)
  const [call, answer] = ['call', 'answer'].map((kind) => ({ kind, callId: `long_${round}` }))
  const late = { kind: 'answer', callId: `long_${round - 1}` }
  const before = isLate(round - 1) ? [late] : []
  if (isLate(round)) return [...before, ...next.slice(0, middle), call, ...next.slice(middle)]
  return [...before, call, ...next.slice(0, middle), answer, ...next.slice(middle)]
}

const isLate = (round) => round % 5 === 1

/** Between compactions facts are changed and ended, and files and tools go on giving orders. */
function meanwhile(round, facts, random) {
  const pins = facts.filter(({ mode }) => mode === 'pin')
  const actions = [{ kind: 'say', parts: [{ type: 'text', author: 'file', text: hostileText(random) }] }]
  if (round % 4 === 0) actions.push({ kind: 'tool', text: hostileText(random) })
  const repinned = repinnedAt.indexOf(round)
  const changed = pins[repinned]
  if (repinned >= 0 && changed) {
    actions.push({ kind: 'pin', fact: { ...changed, text: `${changed.text} As of round ${round}.` } })
  }
  if (unpinnedAt.includes(round) && pins.length > 0) actions.push({ kind: 'unpin', fact: pins.at(-1) })
  return actions
}
