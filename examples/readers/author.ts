import type { Author, TextPart, UserPart } from '@tidemark/session-core'

/**
 * What agent hosts write into the user's seat: command echoes, hook output, reminders, notices. A person can
 * type such a tag too; then the text counts as nobody's order, which is the safe mistake.
 */
const families = [
  ...['system', 'command', 'local-command', 'bash', 'task', 'teammate', 'ide', 'session', 'hook'],
  ...['user-memory', 'user-prompt-submit', 'pre-tool-use', 'post-tool-use'],
]
const tag = new RegExp(
  `<(?:(file|skill)\\s[^<>]*|((?:${families.join('|')})[-_][\\w-]+)(?:\\s[^<>]*)?)>`,
  'g',
)

const notices = [
  '[Request interrupted by user',
  'Caveat: The messages below were generated',
  'This session is being continued from a previous conversation',
  'Stop hook feedback:',
]

export function isInterrupt(text: string): boolean {
  return text.trimStart().startsWith('[Request interrupted by user')
}

/** A user's text as parts, so that what was injected into it does not speak with the user's authority. */
export function authored(text: string, author: Author): UserPart[] {
  if (author !== 'human') return [{ type: 'text', text, author }]
  const start = text.trimStart()
  if (notices.some((notice) => start.startsWith(notice))) return [{ type: 'text', text, author: 'system' }]
  const parts: UserPart[] = []
  let from = 0
  for (const span of tagged(text)) {
    add(parts, text.slice(from, span.from), 'human')
    add(parts, text.slice(span.from, span.through), span.author)
    from = span.through
  }
  add(parts, text.slice(from), 'human')
  return parts.length > 0 ? parts : [{ type: 'text', text, author }]
}

interface Tagged {
  readonly from: number
  readonly through: number
  readonly author: Author
}

/** Each outermost tag with all that is in it; one that is never closed takes the rest with it. */
function* tagged(text: string): Generator<Tagged> {
  let through = 0
  for (const match of text.matchAll(tag)) {
    if (match.index < through) continue
    const [, file, injected] = match
    const close = `</${file ?? injected}>`
    const closed = text.indexOf(close, match.index)
    through = closed < 0 ? text.length : closed + close.length
    yield { from: match.index, through, author: file === undefined ? 'system' : 'file' }
  }
}

/** White space between tags is nobody's, and stays with its neighbour. */
function add(parts: UserPart[], text: string, author: Author): void {
  if (text === '') return
  const last = parts.at(-1)
  if (last?.type === 'text' && (text.trim() === '' || last.author === author)) {
    parts[parts.length - 1] = { ...last, text: last.text + text } satisfies TextPart & { author: Author }
  } else parts.push({ type: 'text', text, author: text.trim() === '' ? 'system' : author })
}
