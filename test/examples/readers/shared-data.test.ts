import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findUnpaired } from '../../../examples/demo/pairing.ts'
import { TranscriptRefused } from '../../../examples/readers/refusal.ts'
import { readTranscript } from '../../../examples/readers/transcript.ts'
import { sharedData } from '../scratch.ts'
import { recorded } from './recorded.ts'

function filesIn(...folders: string[]): string[] {
  if (sharedData === undefined) return []
  const root = sharedData
  return folders.flatMap((folder) => readdirSync(join(root, folder)).map((name) => join(root, folder, name)))
}

function refusalOf(file: string): TranscriptRefused | undefined {
  try {
    readTranscript(file)
    return undefined
  } catch (error) {
    if (error instanceof TranscriptRefused) return error
    throw error
  }
}

const isReadable = (file: string): boolean => !/glued-line|probing-questions/.test(file)
const readable = filesIn('claude-code', 'codex', 'memory-qa', 'pi').filter(isReadable)
const others = filesIn('dsh', 'memory-qa', 'openhands', 'swe-agent').filter(
  (file) => !readable.includes(file),
)

describe.skipIf(sharedData === undefined)('real transcripts', () => {
  it.each(readable)('%s is read, and every step of it is accepted', async (file) => {
    const { steps, recordCount, skipped } = readTranscript(file)
    const session = await recorded(steps)
    expect(session.log.length).toBe(steps.length)
    expect(findUnpaired(session.messages())).toBeUndefined()
    expect([...skipped.values()].reduce((sum, count) => sum + count, 0)).toBeLessThan(recordCount)
    expect(skipped.has('result whose call has not come')).toBe(false)
  })

  it('the line that holds two records is named', () => {
    const [file = ''] = filesIn('claude-code').filter((name) => name.endsWith('glued-line.jsonl'))
    expect(refusalOf(file)).toMatchObject({ kind: 'damaged', line: 172 })
  })

  it.each(['claude-code', 'pi'])(
    'a longer capture of %s begins with the steps of the shorter one',
    (folder) => {
      const growing = filesIn(folder)
        .filter((file) => file.includes('growing-'))
        .sort()
      const all = growing.map((file) => readTranscript(file).steps)
      for (const [index, steps] of all.slice(1).entries()) {
        const shorter = all[index] ?? []
        expect(steps.slice(0, shorter.length)).toEqual(shorter)
        expect(steps.length).toBeGreaterThan(shorter.length)
      }
    },
  )

  it.each(others)('%s is refused as foreign', (file) => {
    expect(refusalOf(file)).toMatchObject({ kind: 'foreign' })
  })
})
