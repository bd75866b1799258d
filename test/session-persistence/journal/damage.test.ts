import { JournalStorage } from '@tidemark/session-persistence/journal'
import { isSessionError, type AnySessionEvent } from '@tidemark/session-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { append, events, headerOf, newClaim, readBack, seqsOf, upTo } from '../batches.ts'
import { refusalOf } from '../refusal.ts'
import { MemoryPort } from './memory-port.ts'

const folder = '/journal/sessions/s-a'
const first = `${folder}/000001-000.jsonl`
const second = `${folder}/000002-000.jsonl`
const store = '/journal/store.json'

let sound: MemoryPort
let truth: readonly AnySessionEvent[]
/** The lengths that the log had after each of its batches. */
const lengths = new Set([0, 2, 3, 6])

beforeAll(async () => {
  sound = new MemoryPort()
  const storage = new JournalStorage({ root: '/journal', port: sound })
  const lease = await storage.create(headerOf('a'), { claim: newClaim() })
  await append(lease, events(0, 1))
  await append(lease, events(2, 2))
  const later = await storage.acquire('a', { claim: newClaim() })
  await append(later, events(3, 5))
  await later.release()
  truth = (await readBack(storage, 'a')).events
})

type Outcome =
  { kind: 'read'; events: readonly AnySessionEvent[] } | { kind: 'refused'; code: string; details: object }

async function read(port: MemoryPort): Promise<Outcome> {
  try {
    return {
      kind: 'read',
      events: (await readBack(new JournalStorage({ root: '/journal', port }), 'a')).events,
    }
  } catch (error) {
    if (!isSessionError(error)) throw error
    return { kind: 'refused', code: error.code, details: error.details }
  }
}

async function readDamaged(path: string, damage: (content: Buffer) => Buffer): Promise<Outcome> {
  const port = sound.copy()
  port.put(path, damage(Buffer.from(port.files().get(path)!)))
  return read(port)
}

const contentOf = (path: string): Buffer => sound.files().get(path)!

describe('damage to a small log', () => {
  it('the sound log is read', async () => {
    expect(await read(sound)).toEqual({ kind: 'read', events: truth })
    expect(seqsOf(truth)).toEqual(upTo(6))
  })

  it.each([first, second])('G19: %s with one byte changed: refused, or the truth', async (path) => {
    const content = contentOf(path)
    let refused = 0
    for (let offset = 0; offset < content.length; offset++) {
      const byte = content[offset]!
      for (const changed of offset % 3 ? [byte ^ 1] : [byte ^ 1, 0x00, 0x0a]) {
        if (changed === byte) continue
        const outcome = await readDamaged(path, (bytes) => bytes.fill(changed, offset, offset + 1))
        if (outcome.kind === 'read') expect(outcome.events, `${path} at ${offset}: ${changed}`).toEqual(truth)
        else refused += outcome.code === 'CORRUPT' ? 1 : 0
      }
    }
    expect(refused).toBeGreaterThan(content.length)
  })

  it.each([first, second])(
    'G19: %s cut at any length: refused, or the log as it was after a batch',
    async (path) => {
      const content = contentOf(path)
      const read: number[] = []
      for (let length = 0; length < content.length; length++) {
        const outcome = await readDamaged(path, (bytes) => bytes.subarray(0, length))
        if (outcome.kind === 'refused') expect(outcome.code).toBe('CORRUPT')
        else {
          expect(outcome.events).toEqual(truth.slice(0, outcome.events.length))
          expect(lengths, `${path} cut at ${length}`).toContain(outcome.events.length)
          read.push(outcome.events.length)
        }
      }
      // A seal names its length, and the head where the last one ended. What follows a seal does not count.
      expect(new Set(read)).toEqual(new Set(path === first ? [truth.length] : []))
    },
  )

  it.each([first, second])('%s with one byte less or one more: refused, or the truth', async (path) => {
    const content = contentOf(path)
    for (let offset = 0; offset < content.length; offset++) {
      const cut = (bytes: Buffer): Buffer =>
        Buffer.concat([bytes.subarray(0, offset), bytes.subarray(offset + 1)])
      const grown = (bytes: Buffer): Buffer =>
        Buffer.concat([bytes.subarray(0, offset), Buffer.from(' '), bytes.subarray(offset)])
      for (const damage of [cut, grown]) {
        const outcome = await readDamaged(path, damage)
        if (outcome.kind === 'read') expect(outcome.events, `${path} at ${offset}`).toEqual(truth)
      }
    }
  })

  it.each([first, second])(
    'G19: %s with a line lost, doubled or moved: refused, or the log as it was',
    async (path) => {
      const lines = contentOf(path)
        .toString()
        .split(/(?<=\n)/)
      for (const index of lines.keys()) {
        const without = lines.filter((_, each) => each !== index)
        const doubled = lines.flatMap((line, each) => (each === index ? [line, line] : [line]))
        const moved = [...without.slice(0, index + 1), lines[index]!, ...without.slice(index + 1)]
        for (const changed of [without, doubled, moved]) {
          if (changed.join('') === lines.join('')) continue
          const outcome = await readDamaged(path, () => Buffer.from(changed.join('')))
          if (outcome.kind === 'read') expect(lengths, `line ${index}`).toContain(outcome.events.length)
        }
      }
    },
  )

  it('G19: segments that are lost, doubled or exchanged: refused, or the log as it was', async () => {
    const lost = sound.copy()
    await lost.unlink(first)
    expect(await read(lost)).toMatchObject({
      kind: 'refused',
      code: 'CORRUPT',
      details: { segment: '000001-000.jsonl' },
    })
    for (const [path, content] of [
      [second, contentOf(first)],
      [first, contentOf(second)],
    ] as const) {
      expect(await readDamaged(path, () => content)).toMatchObject({ kind: 'refused', code: 'CORRUPT' })
    }
    const doubled = sound.copy()
    await doubled.link(second, `${folder}/000003-000.jsonl`)
    expect(await read(doubled)).toMatchObject({ kind: 'refused', code: 'CORRUPT' })
  })

  it('store.json with one byte changed is refused', async () => {
    for (let offset = 0; offset < contentOf(store).length; offset++) {
      const outcome = await readDamaged(store, (bytes) => bytes.fill(bytes[offset]! ^ 1, offset, offset + 1))
      expect(outcome, `at ${offset}`).toMatchObject({ kind: 'refused', code: 'CORRUPT' })
    }
  })

  it('G20: a claim is refused by damage before it creates anything', async () => {
    const damages: readonly ((content: Buffer) => Buffer)[] = [
      (bytes) => bytes.subarray(0, -1),
      (bytes) => Buffer.concat([bytes, Buffer.from('{"seq":7,"time"')]),
      (bytes) => Buffer.concat([bytes, Buffer.from('no line of ours\n')]),
      (bytes) => bytes.fill(0x20, 40, 41),
    ]
    for (const damage of damages) {
      const port = sound.copy()
      port.put(second, damage(Buffer.from(contentOf(second))))
      const before = port.files()
      const storage = new JournalStorage({ root: '/journal', port })
      const refusal = await refusalOf(() => storage.acquire('a', { claim: newClaim() }))
      expect(refusal.code).toBe('CORRUPT')
      expect(refusal.details).toMatchObject({ segment: '000002-000.jsonl' })
      expect(port.files()).toEqual(before) // neither a claim, nor a byte
      expect(await storage.verify('a')).toMatchObject({ kind: 'damaged', code: 'CORRUPT' })
    }
  })
})
