import { brokenPairs } from './pairing.mjs'
import { findBlock, userParts } from './view.mjs'

/** What must hold after each compaction. `count`: of what was looked at; `failures`: what does not hold. */
export const musts = {
  exact: 'pinned facts that stand byte for byte',
  invented: 'pins and orders that nobody gave',
  overBudget: 'applied results over the budget',
  broken: 'broken pairs of a call and its result',
}

/**
 * Judges one compaction by what a model would see after it: `messages`, `facts` in force as the service tells them,
 * `tokens`; and the first two `before` it. `expected`: the texts of the facts that were planted and not ended.
 */
export function judge({ before, after, expected, isApplied, contextTokensMax }) {
  const inForce = [...new Set([...expected, ...before.facts.map(({ text }) => text)])]
  const block = isApplied ? textsIn(findBlock(after.messages)) : undefined
  return {
    exact: missingIn(after, { inForce, block }),
    invented: inventedIn({ before, after, inForce, block }),
    overBudget: isApplied && after.tokens > contextTokensMax ? [`${after.tokens} tokens`] : [],
    broken: brokenPairs(after.messages),
    factCount: inForce.length,
  }
}

/** A fact has to be in force, and to stand as a part of its own in the block; before that as it was told. */
function missingIn({ messages, facts }, { inForce, block }) {
  const known = new Set(facts.map(({ text }) => text))
  const told = new Set(
    userParts(messages).flatMap(({ author, text = '' }) => {
      if (author === 'system') return [text]
      return author === 'human' ? text.split('\n') : []
    }),
  )
  const shown = block === undefined ? told : new Set(block.slice(1))
  return inForce.filter((text) => !known.has(text) || !shown.has(text))
}

/** Facts that were not in force before; parts of the block that are none; words of a person or of the host that are new. */
function inventedIn({ before, after, inForce, block = [] }) {
  const allowed = new Set(inForce)
  const facts = after.facts.map(({ text }) => text).filter((text) => !allowed.has(text))
  const shown = block.slice(1).filter((text) => !allowed.has(text))
  const isAuthority = ({ author }) => author === 'system' || author === 'human'
  const told = new Set(userParts(before.messages).filter(isAuthority).map(textOfPart))
  const laundered = userParts(after.messages)
    .filter(isAuthority)
    .map(textOfPart)
    .filter((text) => !told.has(text) && !allowed.has(text) && text !== block[0])
  return [...facts, ...shown, ...laundered]
}

function textsIn(block) {
  return block?.parts.map(textOfPart)
}

function textOfPart({ text, ...file }) {
  return text ?? JSON.stringify(file)
}
