import { createHash } from 'node:crypto'
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineProjection } from '@tidemark/session-core'
import { describe, expect, it } from 'vitest'
import { folderOf, segmentsOf } from '../files.ts'
import { startJournal } from '../host.ts'
import { scratch } from '../scratch.ts'
import { fieldsOf, pack, unpack, type Extension } from './message-pack.ts'
import { plugin, seeded, talk, tally } from './told.ts'

const page = readFileSync(fileURLToPath(new URL('../../../docs/format.md', import.meta.url)), 'utf8')
const section = page.slice(page.indexOf('\n## Snapshots\n'), page.indexOf('\n## Writing\n'))

const odd = defineProjection({
  name: 'odd',
  version: 3,
  init: () => JSON.parse('{"__proto__":1,"half":"\\ud800","minus":[-0]}') as object,
  apply: (state: object) => state,
})
/** A state that rests on what the program knows of a type. */
const asking = defineProjection({
  name: 'asking',
  version: 1,
  init: () => 0,
  apply: (count: number, { type }, { event }) => count + (event(type) ? 1 : 0),
})

async function stored(root: string) {
  const ctx = await startJournal(root, { retainEvents: 0 })
  ctx.sessions.define({ ...plugin, projections: [tally, odd, asking] })
  const session = await ctx.sessionPersistence.create({ id: 'a' })
  talk(session, 1_500, seeded(3))
  await session.flush()
  const states = { tally: session.read(tally), asking: session.read(asking) }
  await ctx.sessions.dispose(session)
  return { ctx, states }
}

const snapshotsOf = (root: string): string[] =>
  readdirSync(folderOf(root, 'a'))
    .filter((name) => name.startsWith('snapshot-'))
    .map((name) => join(folderOf(root, 'a'), name))

const names = ['format', 'epoch', 'seq', 'digest', 'segment', 'offset', 'session', 'log']

function sumOf(fields: ReadonlyMap<string, unknown>): string {
  const list = names.map((name) => fields.get(name) ?? null)
  const content = fields.get('content') as Buffer
  return createHash('sha256').update(JSON.stringify(list)).update(content).digest('hex')
}

const recordOf = (value: unknown): unknown => Object.fromEntries(fieldsOf(value))

describe('a snapshot', () => {
  it('is as the page on the format says, read by nobody else’s code', async () => {
    const root = scratch()
    const { states } = await stored(root)
    const [path = ''] = snapshotsOf(root)
    const fields = fieldsOf(unpack(readFileSync(path)))
    const digest = fields.get('digest') as string
    const seq = fields.get('seq') as number
    expect([...fields.keys()].sort()).toEqual([...names, 'sum', 'content'].sort())
    expect(basename(path)).toBe(`snapshot-${seq}-${digest.slice(0, 16)}.msgpack`)
    expect(fields.get('sum')).toBe(sumOf(fields))
    const [segment] = segmentsOf(root, 'a')
    const header = JSON.parse(segment?.lines[0] ?? '')
    expect([fields.get('session'), fields.get('log')]).toEqual(['a', header.segment.sum])
    // Where the batch ends that it was taken after.
    expect(fields.get('segment')).toBe(segment?.name)
    const front = readFileSync(segment?.path ?? '').subarray(0, fields.get('offset') as number)
    const commit = JSON.parse(front.toString().trimEnd().split('\n').at(-1) ?? '')
    expect(commit.commit).toMatchObject({ to: seq, digest, epoch: fields.get('epoch') })

    const content = fieldsOf(unpack(fields.get('content') as Buffer))
    expect([...content.keys()].sort()).toEqual(['format', 'projections', 'seq', 'tailSeq', 'types'])
    expect([content.get('format'), content.get('seq')]).toEqual([2, seq])
    expect(content.get('tailSeq')).toBeGreaterThan(0)
    expect(content.get('tailSeq')).toBeLessThanOrEqual(seq + 1)
    const types = (content.get('types') as unknown[]).map(recordOf)
    expect(types).toContainEqual({ seq: expect.any(Number), type: 'work/start' })
    const projections = fieldsOf(content.get('projections'))
    const found = fieldsOf(projections.get('tally'))
    expect([...found.keys()].sort()).toEqual(['seq', 'state', 'version'])
    expect([found.get('version'), found.get('seq')]).toEqual([1, seq])
    expect(recordOf(unpack(found.get('state') as Buffer))).toEqual(states.tally)
    const asked = fieldsOf(projections.get('asking'))
    expect(unpack(asked.get('state') as Buffer)).toBe(states.asking)
    expect([...fieldsOf(asked.get('told')).keys()]).toContain('event work/start')

    const pairs = unpack(fieldsOf(projections.get('odd')).get('state') as Buffer) as Extension
    expect(pairs.type).toBe(1)
    const [proto, half, minus] = unpack(pairs.bytes) as [unknown, [string, Extension], [string, Extension[]]]
    expect(proto).toEqual(['__proto__', 1])
    expect([half[1].type, half[1].bytes.toString('utf16le')]).toEqual([2, '\ud800'])
    expect(minus).toEqual(['minus', [{ type: 3, bytes: Buffer.of(1) }]])

    for (const each of [fields, content, found, asked])
      for (const name of each.keys()) expect(section).toContain(`\`${name}\``)
  })

  it('that is written as the page says serves', async () => {
    const root = scratch()
    const { ctx } = await stored(root)
    const [path = ''] = snapshotsOf(root)
    const old = fieldsOf(unpack(readFileSync(path)))
    const seq = old.get('seq') as number
    rmSync(path)
    const projections = fieldsOf(fieldsOf(unpack(old.get('content') as Buffer)).get('projections'))
    projections.set('tally', { version: 1, seq, state: pack({ 'turn/start': 77 }) })
    const content = pack({ format: 2, seq, tailSeq: seq + 1, types: [], projections })
    // The hint of where the batch ends may be missing.
    const kept = [...old].filter(([name]) => !['segment', 'offset', 'sum', 'content'].includes(name))
    const fields = new Map<string, unknown>([['content', content], ...kept])
    writeFileSync(path, pack(fields.set('sum', sumOf(fields))), { mode: 0o600 })
    const view = await ctx.sessionPersistence.inspect('a')
    expect(view.log.base).toBe(seq + 1)
    expect(view.read(tally)).toEqual({ 'turn/start': 77 })
  })
})
