/** Calls without their result right after them, results without their call, and ids that come twice. */
export function brokenPairs(messages) {
  const broken = []
  const known = new Set()
  messages.forEach((message, index) => {
    const called = idsIn(message, 'assistant', 'tool-call')
    for (const id of called) {
      if (known.has(id)) broken.push(`message ${index} calls ${id} again`)
      known.add(id)
    }
    const answered = idsIn(messages[index + 1], 'tool', 'tool-result')
    for (const id of called) if (!answered.includes(id)) broken.push(`message ${index}: ${id} has no result`)
    const answers = idsIn(message, 'tool', 'tool-result')
    const before = idsIn(messages[index - 1], 'assistant', 'tool-call')
    for (const id of answers) if (!before.includes(id)) broken.push(`message ${index}: ${id} has no call`)
    if (new Set(answers).size < answers.length) broken.push(`message ${index} answers a call twice`)
  })
  return broken
}

function idsIn(message, role, type) {
  if (message?.role !== role) return []
  return message.parts.filter((part) => part.type === type).map(({ id }) => id)
}
