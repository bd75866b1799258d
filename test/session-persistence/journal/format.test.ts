import { createHash, createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { AnySessionEvent } from '@tidemark/session-core'
import { encodeEvent } from '@tidemark/session-persistence'
import { JournalStorage } from '@tidemark/session-persistence/journal'
import { beforeAll, describe, expect, it } from 'vitest'
import { append, headerOf } from '../batches.ts'
import { MemoryPort } from './memory-port.ts'

const documented = readFileSync(new URL('../../../docs/format.md', import.meta.url), 'utf8')
const time = 1_764_000_000_000

/** The session that the page on the format shows. */
async function writeExample(): Promise<Map<string, string>> {
  const port = new MemoryPort()
  const storage = new JournalStorage({ root: '/journal', port })
  const say = (seq: number, type: string, data: unknown, more: Partial<AnySessionEvent> = {}) =>
    encodeEvent({ seq, time: time + seq, type, data, ...more })
  const stream = (seq: number, text: string, afterMs: number) =>
    say(seq, 'assistant/chunk', { kind: 'text', text }, { time: time + afterMs, ignorable: true })
  const header = headerOf('Bot/7', { createdAt: time, meta: { title: 'Deploy' } })
  const first = await storage.create(header, { claim: { incarnation: 'life-1', enabledBy: 'config' } })
  const text = { type: 'text', text: 'hi', author: 'human' }
  await append(first, [say(0, 'turn/start', {}), say(1, 'user/message', { parts: [text] })], 'batch-1')
  await first.release()
  const second = await storage.acquire('Bot/7', {
    claim: { incarnation: 'life-2', enabledBy: 'env', carry: ['x/y'] },
  })
  await append(
    second,
    [
      say(2, 'session/resumed', {}),
      stream(3, 'Hel', 20),
      stream(4, 'lo ', 32),
      stream(5, '🌊', 27),
      say(6, 'x/y', null, { ignorable: true }),
    ],
    'batch-2',
  )
  return new Map(
    [...port.files()].map(([path, content]) => [path.replace('/journal/', ''), content.toString()]),
  )
}

let files: Map<string, string>
beforeAll(async () => {
  files = await writeExample()
})

describe('the bytes on disk', () => {
  it('are those that the page on the format shows', () => {
    for (const [path, content] of files) {
      expect(documented, path).toContain(`\`${path}\``)
      expect(documented, path).toContain(`\`\`\`json\n${content}\`\`\``)
    }
    expect(files.size).toBe(6)
  })

  it('show a run as the page says', () => {
    const lines = files.get('sessions/s-=42ot=2f7/000002-000.jsonl')!.split('\n')
    const line = JSON.parse(lines.find((each) => each.includes('"run":{'))!)
    const { dt, text } = line.run
    const events = text.map((piece: string, index: number) => ({
      seq: line.seq + index,
      time: dt.slice(0, index).reduce((sum: number, each: number) => sum + each, line.time),
      data: { ...line.data, text: piece },
    }))
    expect(events).toEqual([
      { seq: 3, time: time + 20, data: { kind: 'text', text: 'Hel' } },
      { seq: 4, time: time + 32, data: { kind: 'text', text: 'lo ' } },
      { seq: 5, time: time + 27, data: { kind: 'text', text: '🌊' } },
    ])
  })

  it('prove themselves as the page says, computed by nobody else’s code', () => {
    const sha256 = (...parts: readonly (string | Buffer)[]): string =>
      parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest('hex')
    const split = (line: string): [body: string, sum: string] => {
      const [, body = '', sum = ''] = /^(.*),"sum":"(.{64})"\}\}$/.exec(line) ?? []
      return [body, sum]
    }
    let digest = ''
    let previous: { name: string; bytes: number } | undefined
    for (const name of ['000001-000.jsonl', '000002-000.jsonl']) {
      const content = files.get(`sessions/s-=42ot=2f7/${name}`)!
      const [header = '', ...lines] = content.split('\n').slice(0, -1)
      expect(sha256(split(header)[0])).toBe(split(header)[1])
      const { segment } = JSON.parse(header)
      if (previous)
        expect(segment.predecessor).toEqual({ segment: previous.name, bytes: previous.bytes, seq: 1, digest })
      else digest = split(header)[1]
      let batch = ''
      for (const line of lines) {
        if (!line.startsWith('{"commit":')) {
          batch += `${line}\n`
          continue
        }
        expect(createHmac('sha256', segment.salt).update(split(line)[0]).digest('hex')).toBe(split(line)[1])
        if (batch !== '') digest = sha256(Buffer.from(digest, 'hex'), batch)
        expect(JSON.parse(line).commit.digest).toBe(digest)
        batch = ''
      }
      previous = { name, bytes: Buffer.byteLength(content) }
    }
    const store = files.get('store.json')!.trimEnd()
    expect(sha256(split(store)[0])).toBe(split(store)[1])
  })
})
