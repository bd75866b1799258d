import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonValue } from '@tidemark/session-core'
import type { Handle } from '@tidemark/session-continuity'
import { describe, expect, it } from 'vitest'
import { chains, entries } from './source.ts'
import {
  World,
  begin,
  credential,
  foldersOf,
  linesOf,
  reasonFor,
  refusalOf,
  resume,
  scope,
  type TestProcess,
} from './world.ts'

const place = { number: 1, scope, storeId: 'store' }

function lineAfter(
  head: entries.ChainHead | undefined,
  action: string,
  detail: Record<string, JsonValue> = {},
) {
  return entries.sealEntry(head, { incarnation: 'one', time: 5, action, detail })
}

/** A chain of so many entries. */
function chain(count: number): entries.SealedEntry[] {
  const opening = { number: 1, scope, store: 'store', key: 'k', principal: 'p', links: [] }
  const all = [lineAfter(undefined, 'continuity/begin', opening)]
  while (all.length < count) {
    const { entry, digest } = all.at(-1)!
    all.push(lineAfter({ index: entry.index, digest }, 'verdict', { amount: all.length, verdict: 'pending' }))
  }
  return all
}

const bytesOf = (sealed: readonly entries.SealedEntry[]): Buffer =>
  Buffer.from(sealed.map(entries.lineOf).join(''))
const read = (bytes: Uint8Array) => chains.readChain(bytes, place)

describe('an audit chain', () => {
  it('N02: verify says yes to what is whole and no to every edited field of every entry', () => {
    const whole = chain(6)
    expect(read(bytesOf(whole))).toMatchObject({ tornSizeBytes: 0, entries: { length: 6 } })
    expect(read(bytesOf(whole)).fault).toBeUndefined()
    for (const [at, { entry, digest }] of whole.entries()) {
      const edits: Partial<entries.AuditEntry>[] = [
        { action: 'continuity/other' },
        { time: 6 },
        { incarnation: 'two' },
        { index: entry.index + 1 },
        { previous: 'f'.repeat(64) },
        { detail: { ...entry.detail, verdict: 'allow' } },
      ]
      for (const edit of edits) {
        const edited = whole.with(at, { entry: { ...entry, ...edit }, digest })
        expect(read(bytesOf(edited)).fault).toMatchObject({ index: at })
        // With its digest made to fit, the next entry, or its own place, gives it away; the last one, the witness.
        const { digest: fitting } = refitted({ ...entry, ...edit })
        const refitting = whole.with(at, { entry: { ...entry, ...edit }, digest: fitting })
        const reading = read(bytesOf(refitting))
        if (at < 5) expect(reading.fault).toBeDefined()
        else expect(chains.holds(reading, { index: entry.index, digest })).toBe(false)
      }
    }
  })

  it('every flipped bit, and every byte that is gone or one too many, is found', () => {
    const whole = chain(3)
    const bytes = bytesOf(whole)
    const heads = whole.map(({ entry, digest }) => ({ index: entry.index, digest }))
    const isFound = (changed: Buffer): boolean => {
      const reading = read(changed)
      return reading.fault !== undefined || !heads.every((head) => chains.holds(reading, head))
    }
    for (let at = 0; at < bytes.length; at++) {
      const flipped = Buffer.from(bytes)
      flipped[at]! ^= 1 << (at % 8)
      expect(isFound(flipped), `flip at ${at}`).toBe(true)
      const without = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)])
      expect(isFound(without), `without ${at}`).toBe(true)
      const more = Buffer.concat([bytes.subarray(0, at), Buffer.from(' '), bytes.subarray(at)])
      expect(isFound(more), `one more at ${at}`).toBe(true)
    }
  })

  it('lines that are swapped, doubled or left out are found', () => {
    const [a, b, c, d] = chain(4) as [
      entries.SealedEntry,
      entries.SealedEntry,
      entries.SealedEntry,
      entries.SealedEntry,
    ]
    expect(read(bytesOf([a, c, b, d])).fault).toEqual({ kind: 'gap', index: 1 })
    expect(read(bytesOf([a, b, b, c])).fault).toEqual({ kind: 'gap', index: 2 })
    expect(read(bytesOf([a, b, d])).fault).toEqual({ kind: 'gap', index: 2 })
    expect(read(bytesOf([b, c])).fault).toEqual({ kind: 'gap', index: 0 })
    expect(read(Buffer.alloc(0)).fault).toEqual({ kind: 'empty', index: 0 })
  })

  it('the chain of another scope, store or number is foreign', () => {
    const bytes = bytesOf(chain(2))
    for (const other of [{ scope: 'x' }, { storeId: 'x' }, { number: 2 }])
      expect(chains.readChain(bytes, { ...place, ...other }).fault).toEqual({ kind: 'foreign', index: 0 })
  })

  it('only chains before it are linked to', () => {
    const linkedTo = (number: number): unknown => {
      const link = { number, incarnation: 'other', index: 0, digest: entries.firstPrevious }
      const opening = { number: 3, scope, store: 'store', key: 'k', principal: 'p', links: [link] }
      const bytes = bytesOf([lineAfter(undefined, 'continuity/begin', opening)])
      return chains.readChain(bytes, { ...place, number: 3 }).fault
    }
    expect(linkedTo(2)).toBeUndefined()
    for (const number of [3, 4, 1_000_000]) expect(linkedTo(number)).toEqual({ kind: 'link', index: 0 })
  })

  it('what a crash leaves of the last entry is torn, and no fault', () => {
    const bytes = bytesOf(chain(3))
    const last = Buffer.from(entries.lineOf(chain(3)[2]!))
    for (let cut = bytes.length - last.length; cut < bytes.length; cut++) {
      const reading = read(bytes.subarray(0, cut))
      expect(reading).toMatchObject({
        tornSizeBytes: cut - bytes.length + last.length,
        entries: { length: 2 },
      })
      expect(reading.fault).toBeUndefined()
    }
    const hole = Buffer.from(bytes).fill(0, bytes.length - last.length, bytes.length - 20)
    expect(read(hole)).toMatchObject({ tornSizeBytes: last.length, entries: { length: 2 } })
    expect(read(hole).fault).toBeUndefined()
  })

  it('N05: order is the index; a clock that steps back, ahead, or tells no number is told as it is', async () => {
    const world = new World()
    const handle = await begin(world.start())
    const told = [10_000, 10_000, 10_000 - 3_600_000, 10_000 + 3.15e11, Number.NaN, Infinity, 10_000]
    for (const time of told) {
      world.time = time
      await handle.audit({ action: 'step' })
    }
    world.time = 10_000
    const times = linesOf(world, 1).map(
      (line) => (JSON.parse(line) as { entry: { time: unknown } }).entry.time,
    )
    expect(times).toEqual([10_000, ...told.map((time) => (Number.isFinite(time) ? time : null))])
    expect((await verify(world.start())).isSound).toBe(true)
  })

  it.each<[string, unknown]>([
    ['an empty action', { action: '' }],
    ['an action of 101 characters', { action: 'x'.repeat(101) }],
    ['an action that is no text', { action: 5 }],
    ['a list as its detail', { action: 'a', detail: [] }],
    ['no detail at all', { action: 'a', detail: null }],
    ['a text as its detail', { action: 'a', detail: 'text' }],
  ])('%s, which a reader would call damage, is refused before anything is written', async (_, entry) => {
    const world = new World()
    const handle = await begin(world.start())
    const before = [world.files('root'), world.files('witness')]
    expect(await refusalOf(() => handle.audit(entry as never))).toMatchObject({ code: 'INVALID_PAYLOAD' })
    expect([world.files('root'), world.files('witness')]).toEqual(before)
    await handle.audit({ action: 'x'.repeat(100), detail: {} })
    await handle.close()
    expect((await verify(world.start())).isSound).toBe(true)
    expect((await resume(world.start())).isOpen).toBe(true)
  })

  it('what is no lossless JSON is refused before anything is written', async () => {
    const world = new World()
    const handle = await begin(world.start())
    const before = world.files('root')
    for (const detail of [{ x: undefined }, { x: Number.NaN }, { x: 1n }, { x: new Date() }])
      expect(await refusalOf(() => handle.audit({ action: 'a', detail: detail as never }))).toMatchObject({
        code: 'INVALID_PAYLOAD',
      })
    const tooLarge = () => handle.audit({ action: 'a', detail: { x: 'x'.repeat(70_000) } })
    expect(await reasonFor(tooLarge)).toBe('too-many')
    expect(world.files('root')).toEqual(before)
    await handle.audit({
      action: 'a',
      detail: JSON.parse('{"__proto__":{"x":1},"1":2,"b":"\\u2028\\ud83c"}'.replace('\\ud83c', '')) as never,
    })
    expect((await verify(world.start())).isSound).toBe(true)
  })
})

function refitted(entry: entries.AuditEntry): entries.SealedEntry {
  const head = entry.index > 0 ? { index: entry.index - 1, digest: entry.previous } : undefined
  return entries.sealEntry(head, entry)
}

const verify = (process: TestProcess) => process.continuity.verify(scope, { credential: credential('alice') })

/** Two incarnations that ended, and one that did not. */
async function recorded(): Promise<World> {
  const world = new World()
  for (const mode of ['begin', 'resume'] as const) {
    const handle = mode === 'begin' ? await begin(world.start()) : await resume(world.start())
    for (let index = 0; index < 3; index++) await handle.audit({ action: 'step', detail: { index } })
    await handle.close()
  }
  const crashed = world.start()
  await (await resume(crashed)).audit({ action: 'last' })
  crashed.die()
  return world
}

const fileOf = (world: World, number: number): string =>
  join(foldersOf(world).audit, `${String(number).padStart(6, '0')}.jsonl`)

/** A chain that links to another one than it did, and holds in itself. */
function relink(world: World, number: number, to: number): void {
  const sealed = linesOf(world, number).map((line) => entries.findEntry(line)!)
  const { entry: first } = sealed[0]!
  const [link] = first.detail.links as Record<string, JsonValue>[]
  const detail = { ...first.detail, links: [{ ...link, number: to }] }
  const forged = [refitted({ ...first, detail })]
  for (const { entry } of sealed.slice(1))
    forged.push(refitted({ ...entry, previous: forged.at(-1)!.digest }))
  writeFileSync(fileOf(world, number), forged.map(entries.lineOf).join(''), { mode: 0o600 })
}

describe('the audit of a scope', () => {
  it('N01: twenty entries at once make one line of succession, and two scopes have chains of their own', async () => {
    const world = new World()
    const process = world.start()
    const [one, two] = [await begin(process), await begin(process, 'alice', 'other')]
    await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        await one.audit({ action: 'record', detail: { index } })
        await two.audit({ action: 'record', detail: { index } })
      }),
    )
    expect((await verify(process)).chains).toMatchObject([{ entriesCount: 21, fault: undefined }])
    await two.close()
    const other = await process.continuity.verify('other', { credential: credential('alice') })
    expect(other.chains).toMatchObject([{ entriesCount: 22, fault: undefined, life: 'closed' }])
    expect((await verify(process)).isSound).toBe(true)
  })

  it('N11: two processes that append for one principal at once each have a file of their own', async () => {
    const world = new World()
    const [one, two] = [await begin(world.start()), await resume(world.start())]
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        await one.audit({ action: 'one' })
        await two.audit({ action: 'two' })
      }),
    )
    expect((await verify(world.start())).chains).toMatchObject([
      { entriesCount: 11, tornSizeBytes: 0, fault: undefined },
      { entriesCount: 11, tornSizeBytes: 0, fault: undefined },
    ])
  })

  it('N11: what cannot be recorded does not happen, and a full chain still ends cleanly', async () => {
    const world = new World()
    const process = world.start({ config: { auditSizeBytesMax: 65_536 } })
    const fill = async (handle: Handle): Promise<void> => {
      for (const sizeBytes of [30_000, 5_000, 1_000, 200, 20, 1]) {
        const write = () => handle.audit({ action: 'fill', detail: { x: 'x'.repeat(sizeBytes) } })
        let refused: unknown
        while (refused === undefined) await write().catch((error: unknown) => (refused = error))
        expect(refused).toMatchObject({ code: 'BACK_PRESSURE', details: { reason: 'too-many' } })
      }
    }
    const [one, two, crashed] = [await begin(process), await resume(process), world.start()]
    const lost = await resume(crashed)
    crashed.die()
    await fill(one)
    const acknowledge = () => process.continuity.acknowledge(lost.incarnation, { as: one, reason: 'seen' })
    expect(await reasonFor(acknowledge)).toBe('too-many')
    expect(await process.continuity.orphans({ as: one })).toMatchObject([{ incarnation: lost.incarnation }])
    // A raise that has no room to be recorded holds in memory, and nowhere else.
    expect(await reasonFor(() => one.raise('secret'))).toBe('too-many')
    expect(one).toMatchObject({ sensitivity: 'secret', isOpen: false })
    expect((await resume(world.start())).sensitivity).toBe('public')
    await fill(two)
    await two.close()
    expect((await verify(world.start())).chains.map(({ life }) => life)).toContain('closed')
  })

  it.each([1, 2, 3])(
    'N02: chain %i cut after any of its lines is found, by verify and by who opens next',
    async (number) => {
      const world = await recorded()
      const lines = linesOf(world, number)
      const path = fileOf(world, number)
      for (let kept = 0; kept < lines.length; kept++) {
        writeFileSync(
          path,
          lines
            .slice(0, kept)
            .map((line) => `${line}\n`)
            .join(''),
          { mode: 0o600 },
        )
        const { isSound, chains: found } = await verify(world.start())
        expect(isSound, `${kept} lines`).toBe(false)
        expect(found[number - 1]!.fault).toBe(kept === 0 ? 'empty' : 'truncated')
        if (number === 3) expect(await reasonFor(() => resume(world.start()))).toBe('damaged')
      }
      writeFileSync(path, lines.map((line) => `${line}\n`).join(''), { mode: 0o600 })
      expect((await verify(world.start())).isSound).toBe(true)
    },
  )

  it.each<[string, (world: World) => void, number, string]>([
    ['a chain that is gone', (world) => rmSync(fileOf(world, 2)), 2, 'missing'],
    ['the last chain gone', (world) => rmSync(fileOf(world, 3)), 3, 'missing'],
    [
      'two chains exchanged',
      (world) => {
        renameSync(fileOf(world, 1), fileOf(world, 9))
        renameSync(fileOf(world, 2), fileOf(world, 1))
        renameSync(fileOf(world, 9), fileOf(world, 2))
      },
      1,
      'foreign',
    ],
    [
      'an entry edited, and its digest with it',
      (world) => {
        const lines = linesOf(world, 2)
        const last = entries.findEntry(lines.at(-1)!)!
        const forged = entries.lineOf(refitted({ ...last.entry, detail: { forged: true } }))
        writeFileSync(fileOf(world, 2), `${lines.slice(0, -1).join('\n')}\n${forged}`, { mode: 0o600 })
      },
      2,
      'exchanged',
    ],
    [
      'an entry more at the end',
      (world) => appendFileSync(fileOf(world, 2), `${linesOf(world, 1).at(-1)}\n`),
      2,
      'gap',
    ],
    ['a chain that links to itself', (world) => relink(world, 2, 2), 2, 'link'],
    ['a chain that links to a later one', (world) => relink(world, 2, 3), 2, 'link'],
    ['the last chain, linked to one that is not there yet', (world) => relink(world, 3, 9), 3, 'link'],
  ])('%s is found', async (_, damage, number, fault) => {
    const world = await recorded()
    damage(world)
    const { isSound, chains: found } = await verify(world.start())
    expect(isSound).toBe(false)
    expect(found[number - 1]!.fault).toBe(fault)
  })

  it('the end of a chain that still lives is watched also after others opened and went on', async () => {
    const world = new World()
    const living = await begin(world.start())
    const other = await resume(world.start())
    await living.audit({ action: 'first' })
    await living.audit({ action: 'last' })
    await other.audit({ action: 'elsewhere' })
    const lines = linesOf(world, 1)
    writeFileSync(fileOf(world, 1), `${lines.slice(0, -1).join('\n')}\n`, { mode: 0o600 })
    expect((await verify(world.start())).chains[0]!.fault).toBe('truncated')
  })

  it('N12: whoever lists orphans is told which chains do not hold', async () => {
    const world = await recorded()
    const text = readFileSync(fileOf(world, 3), 'utf8')
    const process = world.start()
    const handle = await resume(process)
    writeFileSync(fileOf(world, 3), text.replace('"last"', '"lost"'), { mode: 0o600 })
    expect(await process.continuity.orphans({ as: handle })).toMatchObject([{ number: 3, isIntact: false }])
  })

  it('N12: an opening reads the newest chain: over an older one that was changed it opens, and whoever verifies is told', async () => {
    const world = await recorded()
    await (await resume(world.start())).close()
    const text = readFileSync(fileOf(world, 2), 'utf8')
    const changed = text.replace(/"time":\d+/, '"time":1')
    expect(changed).not.toBe(text)
    writeFileSync(fileOf(world, 2), changed, { mode: 0o600 })
    const process = world.start()
    const handle = await resume(process)
    expect(handle.isOpen).toBe(true)
    // Nothing that reads it takes it for whole, however it ended.
    const orphans = await process.continuity.orphans({ as: handle })
    expect(orphans.map(({ number, isIntact }) => [number, isIntact])).toEqual([
      [2, false],
      [3, true],
    ])
    await handle.close()
    const { isSound, chains: found } = await verify(world.start())
    expect([isSound, found.map(({ fault }) => fault !== undefined)]).toEqual([
      false,
      [false, true, false, false, false],
    ])
    // The newest is read: as damage nothing is opened over it.
    writeFileSync(fileOf(world, 5), `${linesOf(world, 5)[0]!.replace(/"time":\d+/, '"time":1')}\n`)
    expect(await reasonFor(() => resume(world.start()))).toBe('damaged')
  })

  it('a damaged last chain is no dead end: a recover goes on and says so, and the damage stays seen', async () => {
    const world = await recorded()
    const handle = await resume(world.start())
    await handle.raise('confidential')
    await handle.close()
    writeFileSync(fileOf(world, 4), 'x\n', { mode: 0o600 })
    expect(await reasonFor(() => resume(world.start()))).toBe('damaged')
    const recover = { credential: credential('alice'), reason: 'somebody wrote x' }
    const recovered = await world.start().continuity.recover(scope, recover)
    expect(recovered.sensitivity).toBe('confidential')
    const opening = JSON.parse(linesOf(world, 5)[0]!) as { entry: object }
    expect(opening.entry).toMatchObject({ action: 'continuity/recover', detail: { broken: [4] } })
    await recovered.close()
    await (await resume(world.start())).close()
    expect((await verify(world.start())).chains[3]!.fault).toBe('spelling')
  })

  it('a file of an absurd number is damage, and costs no more than another one', async () => {
    const world = await recorded()
    writeFileSync(fileOf(world, 99_999_999_999_999), 'x', { mode: 0o600 })
    const { isSound, chains: found } = await verify(world.start())
    expect([isSound, found.map(({ number }) => number)]).toEqual([false, [1, 2, 3, 4, 99_999_999_999_999]])
    expect(await reasonFor(() => resume(world.start()))).toBe('damaged')
  })

  it('a folder in the place of a chain is damage, and no dead end', async () => {
    const world = await recorded()
    mkdirSync(fileOf(world, 4))
    expect(await reasonFor(() => resume(world.start()))).toBe('damaged')
    const recover = { credential: credential('alice'), reason: 'a folder' }
    await (await world.start().continuity.recover(scope, recover)).close()
    expect((await resume(world.start())).generation).toBe(2)
  })

  it('a chain that was written under a larger limit is read all the same', async () => {
    const world = new World()
    const handle = await begin(world.start())
    for (let count = 0; count < 8; count++)
      await handle.audit({ action: 'big', detail: { x: 'x'.repeat(30_000) } })
    await handle.close()
    expect((await resume(world.start({ config: { auditSizeBytesMax: 65_536 } }))).isOpen).toBe(true)
  })

  it('verify needs a grant, changes nothing, and says what it could not check', async () => {
    const world = await recorded()
    const before = [world.files('root'), world.files('witness')]
    expect((await verify(world.start())).checked).toEqual({
      chains: true,
      truncation: true,
      rollback: true,
      collusion: false,
    })
    expect(await reasonFor(() => verify(world.start({ grants: () => ({ operations: ['resume'] }) })))).toBe(
      'no-grant',
    )
    expect([world.files('root'), world.files('witness')]).toEqual(before)
    rmSync(foldersOf(world).witness, { recursive: true })
    const blind = await verify(world.start())
    expect(blind).toMatchObject({
      isSound: false,
      state: 'no-witness',
      checked: { truncation: false, rollback: false },
    })
  })
})
