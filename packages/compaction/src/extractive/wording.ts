import { sizeBytesOf } from '../size.ts'
import { emptyExtract, type Extract } from './extract.ts'
import { firstLines } from './lines.ts'

interface Section {
  readonly name: keyof Extract
  readonly title: string
  /** Items beyond this many are left out. */
  readonly countMax: number
  /** Which ones stay, when not all fit. */
  readonly keep: 'oldest' | 'newest'
  /** How much of what the sections before it left it may take. */
  readonly share: number
}

const opening = 'Extract made without a model:'
const earlierLineCount = 12

// In the order in which they are served: when little fits, the first request and the last conclusions do.
const sections: readonly Section[] = [
  { name: 'first', title: 'First request:', countMax: 8, keep: 'oldest', share: 0.4 },
  { name: 'conclusions', title: 'Recent conclusions:', countMax: 12, keep: 'newest', share: 0.4 },
  { name: 'requests', title: 'Recent requests:', countMax: 12, keep: 'newest', share: 0.5 },
  {
    name: 'earlier',
    title: 'From an earlier summary:',
    countMax: earlierLineCount,
    keep: 'oldest',
    share: 0.5,
  },
  { name: 'files', title: 'Files named:', countMax: 32, keep: 'newest', share: 0.6 },
  { name: 'tools', title: 'Tools called:', countMax: 32, keep: 'newest', share: 1 },
]

/** The extract as text of at most so many UTF-8 bytes. Empty when not even the opening fits. */
export function compose(extract: Extract, sizeBytesMax: number): string {
  let left = sizeBytesMax - sizeBytesOf(opening)
  if (left < 0) return ''
  const lines = [opening]
  for (const section of sections) {
    const fitting = fit(section, extract[section.name], Math.floor(left * section.share))
    left -= fitting.reduce((sum, line) => sum + lineSizeBytes(line), 0)
    lines.push(...fitting)
  }
  return lines.join('\n')
}

/** The lines of one section with its title, or none. */
function fit(section: Section, items: readonly string[], sizeBytesMax: number): string[] {
  let left = sizeBytesMax - lineSizeBytes(section.title)
  const ranked = ranking(section, items)
  const kept: string[] = []
  for (const item of ranked) {
    const line = `- ${item}`
    left -= lineSizeBytes(line)
    if (left < 0 || kept.length === section.countMax) break
    kept.push(line)
  }
  if (kept.length === 0) return []
  return [section.title, ...(section.keep === 'newest' ? kept.reverse() : kept)]
}

/** Each item once, where it was said last or first, the ones to keep in front. */
function ranking({ keep }: Section, items: readonly string[]): readonly string[] {
  return [...new Set(keep === 'newest' ? items.toReversed() : items)]
}

function lineSizeBytes(line: string): number {
  return sizeBytesOf(line) + 1
}

/** Reads back what `compose` wrote. Text of another make is quoted from its beginning. */
export function parse(text: string): Extract {
  const extract = emptyExtract()
  const [start, ...lines] = text.split('\n')
  if (start !== opening) return { ...extract, earlier: firstLines(text, earlierLineCount) }
  let items: string[] = []
  for (const line of lines) {
    const section = sections.find(({ title }) => title === line)
    if (section) items = extract[section.name]
    else if (line.startsWith('- ')) items.push(line.slice(2))
  }
  return extract
}
