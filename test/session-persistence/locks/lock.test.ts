import { lstatSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemPort } from '../../../packages/session-persistence/src/journal/fs.ts'
import {
  SessionLock,
  spentLocks,
  type LockTerms,
  type SegmentHolder,
} from '../../../packages/session-persistence/src/journal/lock.ts'
import type {
  HoldOutcome,
  JournalPort,
  LockAddress,
  LockAnswer,
} from '../../../packages/session-persistence/src/journal/port.ts'
import { upTo } from '../batches.ts'
import { codeOf, refusalOf } from '../refusal.ts'
import { scratch } from '../scratch.ts'
import { systemError } from '../journal/memory-port.ts'

const taken: SessionLock[] = []
let path: string
let secret: string

beforeEach((context) => {
  if (process.platform !== 'linux') context.skip('only Linux has names that its kernel frees')
  path = scratch()
  secret = systemPort.random(16)
})
afterEach(async () => {
  for (const lock of taken.splice(0)) await lock.release()
})

type More = Partial<LockTerms> & { readonly id?: string; readonly port?: JournalPort }
const take = async ({ id = 'a', port = systemPort, ...terms }: More = {}): Promise<SessionLock> => {
  const folder = { port, id, path }
  const lock = await SessionLock.take(folder, { secret, force: false, holder: undefined, ...terms })
  taken.push(lock)
  return lock
}

const writer: SegmentHolder = {
  incarnation: 'i',
  enabledBy: 'config',
  pid: 12,
  host: 'a-host',
  bootId: 'b',
  startedAt: 1_000,
}
const named = { pid: 12, host: 'a-host', startedAt: 1_000 }

/** A system whose names are as told; it keeps a list of what was asked for. */
class ToldLocks {
  readonly asked: LockAddress[] = []
  released = 0
  private readonly outcomes: HoldOutcome['kind'][]
  private readonly answers: (LockAnswer | Error)[]
  readonly port: JournalPort

  constructor(
    outcomes: HoldOutcome['kind'][],
    answers: (LockAnswer | Error)[] = [],
    more: Partial<JournalPort> = {},
  ) {
    this.outcomes = outcomes
    this.answers = answers
    this.port = {
      ...systemPort,
      ...more,
      locks: { hold: () => this.hold(), ask: (address) => this.ask(address) },
    }
  }

  private async hold(): Promise<HoldOutcome> {
    const kind = this.outcomes.shift()!
    return kind === 'held' ? { kind, release: async () => void this.released++ } : { kind }
  }

  private async ask(address: LockAddress): Promise<LockAnswer> {
    this.asked.push(address)
    const answer = this.answers.shift()!
    if (answer instanceof Error) throw answer
    return answer
  }
}

describe('taking a lock', () => {
  it('that is held is LOCKED, with the session and who holds it', async () => {
    await take()
    const { pid, host, startedAt } = await systemPort.identity()
    const { code, details } = await refusalOf(() => take({ holder: writer }))
    expect(code).toBe('LOCKED')
    expect(details).toEqual({ sessionId: 'a', holder: { pid, host, startedAt } })
  })

  it('is for one session of one store', async () => {
    await take()
    await take({ id: 'b' })
    await take({ secret: systemPort.random(16) })
    expect(await codeOf(() => take())).toBe('LOCKED')
  })

  it('by force goes on without it, and releases nothing of the other', async () => {
    await take()
    const forced = await take({ force: true })
    await forced.release()
    expect(await codeOf(() => take())).toBe('LOCKED')
  })

  it('by force takes it from nobody, so that the next is refused', async () => {
    await take({ force: true })
    expect(await codeOf(() => take())).toBe('LOCKED')
  })

  it('that its holder releases in between succeeds', async () => {
    const told = new ToldLocks(['taken', 'taken', 'held'], [{ kind: 'free' }, { kind: 'free' }])
    const lock = await take({ port: told.port })
    await Promise.all([lock.release(), lock.release()])
    expect(told.released).toBe(1)
  })

  it('that is free whenever it is asked for, and never to be had, is LOCKED in the end', async () => {
    const told = new ToldLocks(
      upTo(4).map(() => 'taken'),
      upTo(4).map(() => ({ kind: 'free' })),
    )
    expect((await refusalOf(() => take({ port: told.port, holder: writer }))).details.holder).toEqual(named)
    expect(told.asked.length).toBe(3)
  })

  it('does nothing where there are no locks', async () => {
    const { locks: _, ...port } = systemPort
    const folder = { port, id: 'a', path }
    const lock = await SessionLock.take(folder, { secret, force: false, holder: writer })
    await lock.refuseHolder({ ...writer, socket: 'lock-000001-0123456789abcdef' })
    expect(await lock.announce(1)).toBeUndefined()
    await lock.release()
    const unsupported = new ToldLocks(['unsupported', 'unsupported'])
    expect(await (await take({ port: unsupported.port })).announce(1)).toBeUndefined()
  })

  it.each([
    ['nothing', ''],
    ['garbage', '\0\xff{'],
    ['half of it', '{"pid":3,"ho'],
    ['another value', '[3]'],
    ['null', 'null'],
    ['no pid', '{"host":"h","startedAt":1}'],
    ['a pid of 0', '{"pid":0,"host":"h","startedAt":1}'],
    ['a pid that is text', '{"pid":"3","host":"h","startedAt":1}'],
    ['more than it should', '{"pid":3,"host":"h","startedAt":1,"more":1}'],
    ['a host that clears the screen', '{"pid":3,"host":"\\u001b[2J","startedAt":1}'],
    ['a host of 256 characters', JSON.stringify({ pid: 3, host: 'h'.repeat(256), startedAt: 1 })],
    ['a time that no date has', '{"pid":3,"host":"h","startedAt":8640000000000001}'],
  ])('B10: from a holder that says %s is LOCKED, by the last writer or by somebody', async (_, greeting) => {
    const answer = { kind: 'held', greeting } as const
    const told = (): JournalPort => new ToldLocks(['taken'], [answer]).port
    const known = await refusalOf(() => take({ port: told(), holder: writer }))
    expect(known.details).toEqual({ sessionId: 'a', holder: named })
    const unknown = await refusalOf(() => take({ port: told() }))
    expect(unknown).toMatchObject({ code: 'LOCKED', details: { sessionId: 'a' } })
    expect(unknown.details).not.toHaveProperty('holder')
    const broken = await refusalOf(() => take({ port: told(), holder: { ...writer, startedAt: 1e300 } }))
    expect(broken.details).not.toHaveProperty('holder')
  })
})

describe('the socket that the newest header names', () => {
  it('refuses while its holder lives, and nothing stays taken', async () => {
    const holder = await take({ id: 'other' })
    const socket = (await holder.announce(3))!
    const lock = await take()
    const { pid, host, startedAt } = await systemPort.identity()
    const { code, details } = await refusalOf(() => lock.refuseHolder({ ...writer, socket }))
    expect(code).toBe('LOCKED')
    expect(details).toEqual({ sessionId: 'a', holder: { pid, host, startedAt } })
    const next = await take()
    await holder.release()
    await next.refuseHolder({ ...writer, socket })
    expect(await codeOf(() => take())).toBe('LOCKED')
  })

  it('is not asked when the caller forces it', async () => {
    const socket = (await (await take({ id: 'other' })).announce(3))!
    const lock = await take({ force: true })
    await lock.refuseHolder({ ...writer, socket })
    expect(await codeOf(() => take())).toBe('LOCKED')
  })

  it('B10: counts alone: the pid of a process that lives (it was used again) refuses nobody', async () => {
    const lock = await take()
    await lock.refuseHolder({ ...writer, pid: process.pid })
    await lock.refuseHolder({ ...writer, pid: process.pid, socket: 'lock-000001-0123456789abcdef' })
  })

  it.each([
    '',
    '.',
    '../lock-000001-0123456789abcdef',
    '/lock-000001-0123456789abcdef',
    'lock-000001-0123456789abcdef/x',
    'lock-000001-0123456789abcdef\n',
    'lock-000001-0123456789ABCDEF',
    'lock-000001-0123456789abcde',
    'lock-00001-0123456789abcdef',
    'lock-0000000000000001-0123456789abcdef',
    '000001-000.jsonl',
  ])('is asked only by a name of ours, not by %j', async (socket) => {
    const told = new ToldLocks(['held'])
    await (await take({ port: told.port })).refuseHolder({ ...writer, socket })
    expect(told.asked).toEqual([])
  })

  it('that cannot be asked leaves nothing taken', async () => {
    const told = new ToldLocks(['held'], [systemError('EMFILE')])
    const lock = await take({ port: told.port })
    const asking = lock.refuseHolder({ ...writer, socket: 'lock-000001-0123456789abcdef' })
    await expect(asking).rejects.toMatchObject({ code: 'EMFILE' })
    expect(told.released).toBe(1)
  })
})

describe('an announced lock', () => {
  it.each([0o000, 0o077, 0o777])(
    'is a socket that only its owner may use, under a umask of %i',
    async (umask) => {
      const before = process.umask(umask)
      try {
        const socket = (await (await take()).announce(12))!
        expect(socket).toMatch(/^lock-000012-[0-9a-f]{16}$/)
        expect(lstatSync(join(path, socket)).isSocket()).toBe(true)
        expect(lstatSync(join(path, socket)).mode & 0o777).toBe(0o600)
      } finally {
        process.umask(before)
      }
    },
  )

  it.each([10, 250])('is held on after its folder got another name, of %i characters', async (length) => {
    const [born, named] = [join(path, 'tmp-1'), join(path, 's'.repeat(length))]
    mkdirSync(born)
    const folder = { port: systemPort, id: 'a', path: born }
    const lock = await SessionLock.take(folder, { secret, force: false, holder: undefined })
    const socket = (await lock.announce(1))!
    renameSync(born, named)
    lock.movedTo(named)
    const claimant = { port: systemPort, id: 'a', path: named }
    const terms = { secret: systemPort.random(16), force: false, holder: undefined }
    const other = await SessionLock.take(claimant, terms)
    expect(await codeOf(() => other.refuseHolder({ ...writer, socket }))).toBe('LOCKED')
    await lock.release()
    expect(readdirSync(named)).toEqual([])
    const next = await SessionLock.take(claimant, terms)
    await next.refuseHolder({ ...writer, socket })
    await next.release()
  })

  it('is released whatever became of its file or folder, and as often as one likes', async () => {
    for (const remove of [
      () => {},
      (socket: string) => rmSync(join(path, socket)),
      () => rmSync(path, { recursive: true }),
    ]) {
      const lock = await take()
      remove((await lock.announce(1))!)
      await Promise.all([lock.release(), lock.release()])
      await lock.release()
      mkdirSync(path, { recursive: true })
      await (await take()).release()
    }
    rmSync(path, { recursive: true })
    expect(await codeOf(() => take())).toBe('NOT_FOUND')
  })

  it('is STORAGE_FAILED where the name is there, or the mode cannot be kept; a release frees all', async () => {
    const there = new ToldLocks(['held', 'taken'])
    const lock = await take({ port: there.port })
    expect(await codeOf(() => lock.announce(1))).toBe('STORAGE_FAILED')
    await lock.release()
    expect(there.released).toBe(1)
    const open = await take({ port: { ...systemPort, chmod: async () => {} } })
    expect(await codeOf(() => open.announce(1))).toBe('STORAGE_FAILED')
    await open.release()
    expect(readdirSync(path)).toEqual([])
    await take()
  })

  it('leaves a name that tells its epoch, so that a later holder knows what is spent', () => {
    const names = [
      'lock-000001-0123456789abcdef',
      'lock-000002-0123456789abcdef',
      'lock-1000000-0123456789abcdef',
    ]
    const others = ['000001-000.jsonl', 'head-000001', 'lock-000001-x', 'lock-000001-0123456789abcdef.txt']
    expect(spentLocks([...names, ...others], 2)).toEqual(names.slice(0, 1))
    expect(spentLocks([...names, ...others], 1_000_001)).toEqual(names)
  })
})
