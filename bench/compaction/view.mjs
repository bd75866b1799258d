/** Everything that a model would read in these messages, as one text. */
export function textOf(value) {
  const texts = []
  collect(value, texts)
  return texts.join('\n')
}

/** The parts that somebody in the user's seat wrote, with their authors. */
export function userParts(messages) {
  return messages.flatMap(({ role, parts }) => (role === 'user' ? parts : []))
}

/** The message that a compaction from the beginning on puts first: the facts in force, or undefined. */
export function findBlock([first]) {
  const isBlock = first?.role === 'user' && first.parts.every(({ author }) => author === 'system')
  return isBlock ? first : undefined
}

function collect(value, texts) {
  if (typeof value === 'string') texts.push(value)
  if (typeof value !== 'object' || value === null) return
  for (const inner of Object.values(value)) collect(inner, texts)
}
