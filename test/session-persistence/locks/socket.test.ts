import { mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemPort } from '../../../packages/session-persistence/src/journal/fs.ts'
import type { HoldOutcome, LockAddress } from '../../../packages/session-persistence/src/journal/port.ts'
import {
  SocketLocks,
  greetingMsMax,
  greetingSizeBytesMax,
} from '../../../packages/session-persistence/src/journal/socket.ts'
import { upTo } from '../batches.ts'
import { scratch } from '../scratch.ts'

const locks = systemPort.locks!
const isLinux = process.platform === 'linux'
const name = 'lock-000001-0123456789abcdef'
let path: string
let inFolder: LockAddress
const undo: (() => unknown)[] = []

beforeEach((context) => {
  if (process.platform === 'win32') context.skip('named pipes are no files')
  path = scratch()
  inFolder = { kind: 'folder', path, name }
})
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

const hold = async (address: LockAddress, port = locks): Promise<Extract<HoldOutcome, { kind: 'held' }>> => {
  const outcome = await port.hold(address, 'here I am')
  if (outcome.kind !== 'held') throw new TypeError(`the name is ${outcome.kind}`)
  undo.push(outcome.release)
  return outcome
}

/** A holder that does with its callers as it likes. */
const foreignHolder = (greet: (caller: Socket) => void): Promise<void> => {
  const server: Server = createServer((caller) => {
    caller.on('error', () => {})
    undo.push(() => caller.destroy())
    greet(caller)
  })
  undo.push(() => server.close())
  return new Promise((resolve) => server.listen(join(path, name), resolve))
}

/** A caller that does not read; resolves when it is connected, or was turned away. */
const silentCaller = (words = ''): Promise<Socket> => {
  const caller = connect(join(path, name)).pause()
  undo.push(() => caller.destroy())
  if (words) caller.write(words)
  return new Promise((resolve) => {
    caller.on('error', () => resolve(caller))
    caller.on('connect', () => resolve(caller))
  })
}

describe.each(['machine', 'folder'] as const)('a name in a %s', (kind) => {
  let address: LockAddress
  beforeEach((context) => {
    if (kind === 'machine' && !isLinux) context.skip('only Linux has names that its kernel frees')
    address = kind === 'machine' ? { kind, name: systemPort.random(32) } : inFolder
  })

  it('that is held is taken for all others, and whoever asks is greeted, time and again', async () => {
    expect(await locks.ask(address)).toEqual({ kind: 'free' })
    await hold(address)
    expect(await locks.hold(address, 'me too')).toEqual({ kind: 'taken' })
    for (const _ of upTo(3)) expect(await locks.ask(address)).toEqual({ kind: 'held', greeting: 'here I am' })
  })

  it('that was released, once or twice, is free and can be held again', async () => {
    const { release } = await hold(address)
    await Promise.all([release(), release()])
    await release()
    expect(await locks.ask(address)).toEqual({ kind: 'free' })
    await hold(address)
    await release()
    expect(await locks.ask(address)).toMatchObject({ kind: 'held' })
  })

  it('is released at once, with callers at every stage', async () => {
    const { release } = await hold(address)
    const asking = upTo(200).map(() => locks.ask(address))
    await asking[0]
    await release()
    for (const { kind: answer } of await Promise.all(asking)) expect(['held', 'free']).toContain(answer)
    expect(await locks.ask(address)).toEqual({ kind: 'free' })
  })
})

describe('a name in a folder', () => {
  it.each([
    ['nothing', () => {}],
    ['a file of 0 bytes', (at: string) => writeFileSync(at, '')],
    ['garbage', (at: string) => writeFileSync(at, 'pid 1\0\xff')],
    ['a folder', (at: string) => mkdirSync(at)],
    ['a link to nowhere', (at: string) => symlinkSync('nowhere', at)],
    ['a link to itself', (at: string) => symlinkSync(at, at)],
    ['a link to a file', (at: string) => symlinkSync(import.meta.filename, at)],
  ])('B10: where %s stands in its place is held by nobody', async (_, put) => {
    put(join(path, name))
    expect(await locks.ask(inFolder)).toEqual({ kind: 'free' })
  })

  it('is held by nobody when the folder is gone, or a file', async () => {
    writeFileSync(join(path, 'file'), '')
    for (const gone of ['missing', 'file'])
      expect(await locks.ask({ kind: 'folder', path: join(path, gone), name })).toEqual({ kind: 'free' })
  })

  it('is not taken from what stands there, which stays', async () => {
    writeFileSync(join(path, name), 'garbage')
    expect(await locks.hold(inFolder, 'here I am')).toEqual({ kind: 'taken' })
    expect(readdirSync(path)).toEqual([name])
  })

  it.each([1, 80, 120, 250])('works in a folder whose own name has %i characters', async (length) => {
    const [before, after] = ['a', 'b'].map((letter) => join(path, letter.repeat(length)))
    mkdirSync(before!)
    await hold({ kind: 'folder', path: before!, name })
    expect(readdirSync(before!)).toEqual([name])
    renameSync(before!, after!)
    const answer = await locks.ask({ kind: 'folder', path: after!, name })
    expect(answer).toEqual({ kind: 'held', greeting: 'here I am' })
    expect(await locks.ask({ kind: 'folder', path: before!, name })).toEqual({ kind: 'free' })
  })

  it('is unsupported where no sockets can be', async (context) => {
    if (!isLinux) context.skip('there is no such folder that everybody has')
    expect(await locks.hold({ kind: 'folder', path: '/proc', name }, '')).toEqual({ kind: 'unsupported' })
  })
})

describe('whoever asks', () => {
  it.each([
    ['says nothing', () => {}],
    ['ends without a word', (caller: Socket) => caller.end()],
    ['says too much', (caller: Socket) => caller.end('x'.repeat(greetingSizeBytesMax + 1))],
  ])('is told no more than that it is held by a holder that %s', async (_, greet) => {
    await foreignHolder(greet)
    expect(await locks.ask(inFolder)).toEqual({ kind: 'held' })
  })

  it('hangs up on a holder that never stops talking', async () => {
    let saidBytes = 0
    const talk = (caller: Socket): void => {
      saidBytes += 65_536
      caller.write('x'.repeat(65_536), (error) => error ?? talk(caller))
    }
    await foreignHolder(talk)
    expect(await locks.ask(inFolder)).toEqual({ kind: 'held' })
    expect(saidBytes).toBeLessThan(2_000_000)
  })

  it('hears a greeting of the largest size, and what came in time of one that did not end', async () => {
    const greeting = 'x'.repeat(greetingSizeBytesMax)
    await foreignHolder((caller) => caller.write(greeting))
    expect(await locks.ask(inFolder)).toEqual({ kind: 'held', greeting })
  })

  it(`waits ${greetingMsMax} ms, and not for each byte anew`, async () => {
    await foreignHolder((caller) => {
      caller.write('x')
      const drip = setInterval(() => caller.write('x'), greetingMsMax / 10)
      undo.push(() => clearInterval(drip))
    })
    const { greeting } = (await locks.ask(inFolder)) as { greeting: string }
    expect(greeting.length).toBeLessThan(12)
  })
})

describe('a holder', () => {
  it('keeps nothing of callers that do not read, that talk, or that leave at once', async (context) => {
    if (!isLinux) context.skip('descriptors are counted in /proc')
    const count = (): number => readdirSync('/proc/self/fd').length
    await hold(inFolder)
    const before = count()
    const callers = await Promise.all(upTo(100).map(() => silentCaller('x'.repeat(100_000))))
    const more = await Promise.all(upTo(100).map(() => silentCaller()))
    for (const _ of upTo(100)) (await silentCaller()).destroy()
    expect((await locks.ask(inFolder)).kind).toBe('held') // and greeted, unless this process is too busy
    for (const caller of [...callers, ...more]) caller.destroy()
    while (count() > before) await new Promise(setImmediate) // never, if one is kept
    expect((await locks.ask(inFolder)).kind).toBe('held')
  })

  it('cannot say more than a caller reads', () => {
    expect(() => locks.hold(inFolder, 'x'.repeat(greetingSizeBytesMax + 1))).toThrow(TypeError)
  })
})

describe('elsewhere', () => {
  const on = (platform: NodeJS.Platform, short?: string): SocketLocks =>
    new SocketLocks({ platform, isThere: () => true, throughDescriptor: (_, work) => work(short) })
  /** A folder in which the socket's whole path has this many bytes. */
  const folderFor = (sizeBytes: number): string => {
    const folder = join(path, 'x'.repeat(sizeBytes - path.length - name.length - 2))
    mkdirSync(folder)
    return folder
  }

  it('a system without names of the machine says so', async () => {
    const address = { kind: 'machine', name } as const
    expect(await on('darwin').hold(address, '')).toEqual({ kind: 'unsupported' })
    expect(await on('freebsd').ask(address)).toEqual({ kind: 'unsupported' })
  })

  it('a path has 103 bytes at most', async () => {
    await hold({ kind: 'folder', path: folderFor(103), name }, on('darwin'))
    const tooLong = { kind: 'folder', path: folderFor(104), name } as const
    expect(await on('darwin').hold(tooLong, '')).toEqual({ kind: 'unsupported' })
    expect(await on('darwin').ask(tooLong)).toEqual({ kind: 'unsupported' })
  })

  it('on Linux a path has 107 bytes, and without /proc no more', async (context) => {
    if (!isLinux) context.skip('paths are shorter here')
    await hold({ kind: 'folder', path: folderFor(107), name }, on('linux'))
    const tooLong = { kind: 'folder', path: folderFor(108), name } as const
    expect(await on('linux').hold(tooLong, '')).toEqual({ kind: 'unsupported' })
    await hold(tooLong, on('linux', path))
    expect(readdirSync(path)).toContain(name)
  })

  it('on Windows every name is that of a pipe', async () => {
    const cwd = process.cwd()
    undo.push(() => process.chdir(cwd))
    process.chdir(path)
    await hold({ kind: 'machine', name: 'abc' }, on('win32'))
    await hold({ kind: 'folder', path: folderFor(250), name }, on('win32'))
    expect(readdirSync(path)).toEqual(
      expect.arrayContaining(['\\\\.\\pipe\\tidemark-abc', `\\\\.\\pipe\\tidemark-${name}`]),
    )
  })
})
