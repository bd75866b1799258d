import { isFactKey } from './schemas.ts'
import { isVisible } from './visible.ts'

/** What the brackets beside a label come to. */
export interface KeyRead {
  readonly key?: string
  /** They name something that cannot be a key. */
  readonly isUnfit?: true
  /** What the label says something of. */
  readonly said: string
}

export const colons: readonly (string | undefined)[] = [':', '：']
const opens: readonly (string | undefined)[] = ['[', '［']
const closes: readonly (string | undefined)[] = [']', '］']

/** `LABEL[key]: said`. `unfit` where a key was begun and no colon follows its end; `undefined` where none was begun. */
export function keyBeforeColon(text: string, from: number): KeyRead | 'unfit' | undefined {
  if (!opens.includes(text[from])) return undefined
  for (const close of [firstClose(text, from), matchingClose(text, from)]) {
    if (close === -1 || !colons.includes(text[close + 1])) continue
    return { ...read(text.slice(from + 1, close)), said: text.slice(close + 2) }
  }
  return colons.some((colon) => colon !== undefined && text.includes(colon, from)) ? 'unfit' : undefined
}

/** `[key] said`, after the colon. */
export function keyAfterColon(said: string): KeyRead {
  const open = said.length - said.trimStart().length
  if (!opens.includes(said[open])) return { said }
  const matching = matchingClose(said, open)
  const close = matching === -1 ? firstClose(said, open) : matching
  const inside = said.slice(open + 1, close)
  // `[words](address)` and `[words][name]` are links, and two links of the same words are two facts.
  const isLink = said[close + 1] === '(' || opens.includes(said[close + 1])
  // An empty pair is a box to tick.
  if (close === -1 || isLink || inside.trim() === '') return { said }
  const found = read(inside)
  return found.isUnfit ? { ...found, said } : { ...found, said: said.slice(close + 1) }
}

function read(inside: string): Pick<KeyRead, 'key' | 'isUnfit'> {
  return isFactKey(inside) && isVisible(inside) ? { key: inside } : { isUnfit: true }
}

function firstClose(text: string, from: number): number {
  for (let index = from; index < text.length; index++) if (closes.includes(text[index])) return index
  return -1
}

function matchingClose(text: string, from: number): number {
  let depth = 0
  for (let index = from; index < text.length; index++) {
    if (opens.includes(text[index])) depth++
    if (closes.includes(text[index]) && --depth === 0) return index
  }
  return -1
}
