import { isRecord } from './lines.ts'
import { Outline, type At } from './outline.ts'
import { partsOf, Tally, textOf, type Reading } from './reading.ts'
import { TranscriptRefused } from './refusal.ts'
import type { Source } from './source.ts'

/** A document of many people's talk: `{ [person]: { history: { [day]: [{ query, response }] } } }`. */
export function isMemoryBank(value: unknown): boolean {
  if (!isRecord(value)) return false
  const people = Object.values(value)
  return people.length > 0 && people.every((person) => isRecord(person) && isRecord(person['history']))
}

/**
 * Reads the talk of all people one after the other, each day in its order, one turn an exchange. Records are exchanges.
 * @throws TranscriptRefused `damaged` where the document is none of that kind.
 */
export function readMemoryBank({ file, bytes }: Source): Reading {
  const document: unknown = JSON.parse(bytes.toString('utf8'))
  if (!isRecord(document) || !isMemoryBank(document))
    throw new TranscriptRefused('damaged', file, { reason: 'is no document of people and what they said' })
  const outline = new Outline()
  const skipped = new Tally()
  let recordCount = 0
  for (const person of Object.values(document)) {
    const { history = {}, ...others } = isRecord(person) ? person : {}
    for (const name of Object.keys(others)) skipped.add(`of a person: ${name}`)
    for (const [day, exchanges] of Object.entries(isRecord(history) ? history : {})) {
      const time = Date.parse(day)
      for (const { query, response } of partsOf(exchanges)) {
        const at = { line: ++recordCount, time: Number.isNaN(time) ? undefined : time }
        if (textOf(query) === '' || textOf(response) === '') skipped.add('half an exchange')
        else exchange(outline, { query: textOf(query), response: textOf(response), at })
      }
    }
  }
  return { format: 'memory-bank', recordCount, steps: outline.steps, skipped: skipped.counts }
}

function exchange(
  outline: Outline,
  { query, response, at }: { query: string; response: string; at: At },
): void {
  outline.user([{ type: 'text', text: query, author: 'human' }], at, { asks: true })
  outline.assistant(`exchange ${at.line}`, [{ type: 'text', text: response }], at)
  outline.endTurn('completed')
}
