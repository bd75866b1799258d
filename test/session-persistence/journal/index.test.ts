import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { encodeEvent, type Lease, type SessionStorage } from '@tidemark/session-persistence'
import { JournalStorage, systemPort, type JournalPort } from '@tidemark/session-persistence/journal'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { append, event, events, headerOf, newClaim, upTo } from '../batches.ts'
import { Random } from '../processes/random.ts'
import { scratch } from '../scratch.ts'

let root: string
let index: string
const opened: JournalStorage[] = []

/** A storage as another process has one: it remembers nothing. */
const open = (port: JournalPort = systemPort): JournalStorage => {
  const storage = new JournalStorage({ root, port })
  opened.push(storage)
  return storage
}

/** A storage that counts the segments it opens, and whose process dies without a word. */
const watched = () => {
  const read: string[] = []
  const port: JournalPort = {
    ...systemPort,
    open: (path, how) => {
      if (how === 'read' && path.endsWith('.jsonl')) read.push(path)
      return systemPort.open(path, how)
    },
  }
  return { read, storage: open(port) }
}

beforeEach(() => {
  root = join(scratch(), 'root')
  index = join(root, 'index')
})
afterEach(async () => {
  for (const storage of opened.splice(0)) await storage.close()
})

const say = async (lease: Lease, time: number, author = 'human'): Promise<void> => {
  const data = { parts: [{ type: 'text', text: 'x', author }] }
  await append(lease, [encodeEvent(event(lease.tail.seq + 1, data, { type: 'user/message', time }))])
}

const make = async (storage: SessionStorage, id: string, time: number): Promise<void> => {
  const lease = await storage.create(headerOf(id), { claim: newClaim() })
  await say(lease, time)
  await lease.release()
}

const make3 = async (): Promise<void> => {
  const storage = open()
  for (const [id, time] of [
    ['a', 1],
    ['b', 2],
    ['c', 3],
  ] as const)
    await make(storage, id, time * 1_000)
}

const ids = async (storage: SessionStorage = open(), countMax = 10): Promise<string[]> =>
  (await storage.list({ countMax })).sessions.map(({ id }) => id)

const claimed = (id: string): Promise<Lease> => open().acquire(id, { claim: newClaim(), force: true })

const eventsFrom = (seq: number, count: number) => events(seq, seq + count - 1)

const names = (suffix: string): string[] => readdirSync(index).filter((name) => name.endsWith(suffix))

describe('the index of a store', () => {
  it('a session that was released is listed by another process without reading more than its last line', async () => {
    await make3()
    const { read, storage } = watched()
    expect(await ids(storage)).toEqual(['c', 'b', 'a'])
    expect(read).toHaveLength(3)
  })

  it('O01: what another process wrote is seen while its lease is held, and after it was killed', async () => {
    await make3()
    const reader = open()
    expect(await ids(reader)).toEqual(['c', 'b', 'a'])
    const lease = await claimed('a')
    await say(lease, 9_000)
    for (const storage of [reader, open()]) expect(await ids(storage, 1)).toEqual(['a'])
    await say(lease, 99_000, 'agent')
    await say(await claimed('b'), 10_000)
    for (const storage of [reader, open()]) expect(await ids(storage)).toEqual(['b', 'a', 'c'])
  })

  it('what a holder leaves is what a look at its log finds, after any lives', async () => {
    const random = new Random(5)
    const page = async (storage: SessionStorage) => (await storage.list({ countMax: 50 })).sessions
    for (const id of upTo(12).map((each) => `s${each}`)) {
      const kept = random.chance(0.5) ? { segmentSizeBytesMax: 900 } : {}
      for (let life = 0; life < 4; life++) {
        const storage = new JournalStorage({ root, port: systemPort, ...kept })
        opened.push(storage)
        const terms = { claim: newClaim() }
        const lease = await (life === 0
          ? storage.create(headerOf(id), { ...terms, seed: events(0, random.below(4)) })
          : storage.acquire(id, terms))
        for (let batch = random.below(4); batch > 0; batch--) {
          if (random.chance(0.4))
            await say(lease, random.below(1_000), random.chance(0.5) ? 'human' : 'agent')
          else
            await append(
              lease,
              eventsFrom(lease.tail.seq + 1, 1 + random.below(random.chance(0.1) ? 900 : 5)),
            )
        }
        await lease.release()
      }
      const through = random.below(3)
      const fork = { id: `${id}-fork`, createdAt: 1, parent: { id, seq: through } }
      const [summary] = (await page(open())).filter((each) => each.id === id)
      if (summary?.status === 'ok' && summary.lastSeq >= through)
        await (await open().fork({ id, through }, fork, newClaim())).release()
    }
    expect(names('.line').length + names('.mark').length).toBeGreaterThan(0)
    const left = await page(open())
    rmSync(index, { recursive: true })
    expect(await page(open())).toEqual(left)
  })

  it('a session that only opens and closes keeps its place', async () => {
    await make3()
    await (await claimed('a')).release()
    expect(await ids()).toEqual(['c', 'b', 'a'])
    expect(names('.line')).toHaveLength(3)
  })

  it('a lease that was taken over from writes no line, and removes no mark of its successor', async () => {
    await make3()
    const stale = await claimed('a')
    const lease = await claimed('a')
    await say(lease, 9_000)
    await stale.release()
    await say(lease, 10_000)
    expect(await ids(open(), 1)).toEqual(['a'])
    await lease.release()
    expect(readdirSync(index).filter((name) => name.startsWith('s-a.'))).toEqual([
      expect.stringMatching(/^s-a\.000003\.[0-9a-f]{12}\.line$/),
    ])
  })

  it('an id that is used again is another session, whatever the index says of the first', async () => {
    await make3()
    for (const epoch of upTo(3)) await say(await claimed('c'), 20_000 + epoch)
    await (await claimed('c')).release()
    await open().remove('c')
    expect(await ids()).toEqual(['b', 'a'])
    await make(open(), 'c', 1_500)
    const { sessions } = await open().list({ countMax: 10 })
    expect(sessions.map(({ id }) => id)).toEqual(['b', 'c', 'a'])
    expect(sessions[1]).toMatchObject({ lastHumanTime: 1_500, lastSeq: 0 })
  })

  it.each([
    ['missing', () => rmSync(index, { recursive: true })],
    ['a file', () => (rmSync(index, { recursive: true }), writeFileSync(index, 'x'))],
    ['garbage', () => each((path) => writeFileSync(path, 'garbage'))],
    ['truncated', () => each((path) => writeFileSync(path, readFileSync(path).subarray(0, 100)))],
    ['empty files', () => each((path) => writeFileSync(path, ''))],
    ['zeros', () => each((path) => writeFileSync(path, Buffer.alloc(statSync(path).size)))],
    ['writable by others', () => chmodSync(index, 0o777)],
  ])('an index that is %s costs time, and nothing else', async (_, damage) => {
    await make3()
    damage()
    expect(await ids()).toEqual(['c', 'b', 'a'])
    const lease = await claimed('a')
    await say(lease, 9_000)
    expect(await ids()).toEqual(['a', 'c', 'b'])
    await lease.release()
    expect(await ids()).toEqual(['a', 'c', 'b'])
  })

  it('a lost index comes back when a session is released', async () => {
    await make3()
    rmSync(index, { recursive: true })
    await (await claimed('a')).release()
    rmSync(join(root, 'index', names('.line')[0] ?? 'none'), { force: true })
    await (await claimed('b')).release()
    const { read, storage } = watched()
    expect(await ids(storage)).toEqual(['c', 'b', 'a'])
    expect(read).toHaveLength(3)
  })

  it('many sessions are folded into one list, by whichever of two processes is first', async () => {
    const storages = [open(), open()]
    await Promise.all(
      storages.map(async (storage, which) => {
        for (const each of upTo(100)) await make(storage, `s${which}-${each}`, 1_000 + each * 2 + which)
      }),
    )
    expect(names('.line').length).toBeLessThan(130)
    expect(readdirSync(index).filter((name) => name.startsWith('list-'))).toHaveLength(1)
    expect(names('.tmp')).toEqual([])
    const { read, storage } = watched()
    const first = await storage.list({ countMax: 50 })
    expect(read).toHaveLength(50)
    const expected = upTo(200).map((place) => `s${(199 - place) % 2}-${Math.floor((199 - place) / 2)}`)
    expect(first.sessions.map(({ id }) => id)).toEqual(expected.slice(0, 50))
    expect(await ids(open(), 200)).toEqual(expected)
    for (const name of readdirSync(index)) expect(statSync(join(index, name)).mode & 0o777).toBe(0o600)
    expect(statSync(index).mode & 0o777).toBe(0o700)
  }, 60_000)

  it('a broken list with the highest number there is, is passed over, and gone with the next fold', async () => {
    const storage = open()
    mkdirSync(index, { recursive: true, mode: 0o700 })
    writeFileSync(join(index, 'list-999999999999999'), 'x', { mode: 0o600 })
    for (let count = 0; count < 70; count++) await make(storage, `s${count}`, count + 1)
    expect(readdirSync(index).filter((name) => name.startsWith('list-'))).toEqual(['list-000001'])
    expect((await open().list({ countMax: 100 })).sessions).toHaveLength(70)
  })

  it('what pages are made of may change between them: none shows a session that another showed', async () => {
    const storage = open()
    for (const each of upTo(9)) await make(storage, `s${each}`, 1_000 * (each + 1))
    const first = await storage.list({ countMax: 3 })
    const lease = await claimed('s0')
    await say(lease, 99_000)
    await open().remove('s5')
    const second = await storage.list({ countMax: 3, after: first.next! })
    await make(open(), 'new', 88_000)
    const third = await storage.list({ countMax: 3, after: second.next! })
    expect([first, second, third].map(({ sessions }) => sessions.map(({ id }) => id))).toEqual([
      ['s8', 's7', 's6'],
      ['s4', 's3', 's2'],
      ['s1'],
    ])
    expect(third.next).toBe(undefined)
    expect(await ids(storage, 3)).toEqual(['s0', 'new', 's8'])
  })

  it('a session whose files were replaced is shown as it is', async () => {
    await make3()
    const segment = join(root, 'sessions', 's-b', '000001-000.jsonl')
    writeFileSync(segment, readFileSync(segment, 'utf8').replace('"human"', '"nobod"'))
    expect((await open().list({ countMax: 10 })).sessions[1]).toMatchObject({ id: 'b', lastHumanTime: 2_000 })
    writeFileSync(segment, readFileSync(segment).subarray(0, -20))
    const { sessions } = await open().list({ countMax: 10 })
    expect(sessions.map(({ id, status }) => `${id} ${status}`)).toEqual(['c ok', 'a ok', 'b damaged'])
  })
})

describe('a log that is summarized from its end', () => {
  const long = async (): Promise<void> => {
    const storage = open()
    const lease = await storage.create(headerOf('long'), { claim: newClaim() })
    await say(lease, 5_000)
    const text =
      ',"type":"user/message","data":{"author":"human"}\n{"seq":1,"time":9,"type":"user/message","data":'
    for (const _ of upTo(30)) {
      const seq = lease.tail.seq + 1
      await append(lease, [
        encodeEvent(event(seq, { text, pad: 'x'.repeat(100_000) }, { time: 6_000 + seq })),
      ])
    }
    await say(lease, 7_000, 'agent')
    await append(lease, [
      encodeEvent(event(lease.tail.seq + 1, { pad: 'x'.repeat(100_000) }, { time: 8_000 })),
    ])
  }

  it('finds the last message of a person far before its end, and no text that looks like one', async () => {
    await long()
    const summary = { id: 'long', lastSeq: 32, lastTime: 8_000, lastHumanTime: 5_000 }
    expect((await open().list({ countMax: 1 })).sessions).toEqual([expect.objectContaining(summary)])
  })

  it('goes on from an earlier line, and reads nothing of the megabytes before it', async () => {
    await long()
    await (await claimed('long')).release()
    await append(await claimed('long'), events(33, 33))
    let countBytes = 0
    const port: JournalPort = {
      ...systemPort,
      open: async (path, how) => {
        const file = await systemPort.open(path, how)
        const read = async (into: Uint8Array, offset: number): Promise<number> => {
          const found = await file.read(into, offset)
          countBytes += found
          return found
        }
        const [stat, close] = [() => file.stat(), () => file.close()]
        return { ...file, read, stat, close }
      },
    }
    const { sessions } = await open(port).list({ countMax: 1 })
    expect(sessions[0]).toMatchObject({ lastSeq: 33, lastTime: 1_033, lastHumanTime: 5_000 })
    expect(countBytes).toBeLessThan(1_000_000)
  })

  it('a log that was repaired, and to which nothing was added, is listed as far as it goes', async () => {
    await make3()
    const segment = join(root, 'sessions', 's-a', '000001-000.jsonl')
    writeFileSync(segment, Buffer.concat([readFileSync(segment), Buffer.from('garbage\n')]))
    const damaged = (await open().list({ countMax: 10 })).sessions.at(-1)
    expect(damaged).toMatchObject({ id: 'a', status: 'damaged' })
    await open().repair('a', { claim: newClaim(), acceptLossAfter: 0 })
    const { sessions } = await open().list({ countMax: 10 })
    expect(sessions[2]).toMatchObject({
      id: 'a',
      status: 'ok',
      lastSeq: 0,
      lastTime: 1_000,
      lastHumanTime: 1_000,
    })
  })

  it('an end of many lifecycles without an event is passed over', async () => {
    await make3()
    for (const _ of upTo(5)) await (await claimed('a')).release()
    rmSync(index, { recursive: true })
    const { sessions } = await open().list({ countMax: 10 })
    expect(sessions[2]).toMatchObject({ id: 'a', lastSeq: 0, lastTime: 1_000, lastHumanTime: 1_000 })
  })
})

/** Does something to every file of the index. */
function each(work: (path: string) => void): void {
  mkdirSync(index, { recursive: true })
  for (const name of readdirSync(index)) work(join(index, name))
}
