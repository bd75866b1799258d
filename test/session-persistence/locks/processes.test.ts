import { spawnSync } from 'node:child_process'
import { lstatSync, mkdirSync, readdirSync, renameSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ltsNode, ltsVersion } from '../../../scripts/lts.mjs'
import { systemPort } from '../../../packages/session-persistence/src/journal/fs.ts'
import type { SegmentHolder } from '../../../packages/session-persistence/src/journal/lock.ts'
import { bundled } from '../../bundle.ts'
import { upTo } from '../batches.ts'
import { scratch } from '../scratch.ts'
import { LockProcess, killAll } from './lock-process.ts'

let path: string
let secret: string
const start = (command?: readonly string[]): LockProcess => new LockProcess(path, secret, command)

beforeEach((context) => {
  if (process.platform !== 'linux') context.skip('only Linux has names that its kernel frees')
  path = scratch()
  secret = systemPort.random(16)
})
afterEach(killAll)

/** A newest segment's writer, as its header has it. */
const writer = (fields: Partial<SegmentHolder>): SegmentHolder => ({
  incarnation: 'i',
  enabledBy: 'config',
  pid: process.pid,
  host: 'a-host',
  bootId: null,
  startedAt: 1,
  ...fields,
})

describe('a lock that another process holds', { timeout: 60_000 }, () => {
  it('B10: is refused at once, and says who has it: pid, host, and since when', async () => {
    const [holder, other] = [start(), start()]
    const before = Date.now()
    expect(await holder.take('a')).toEqual({})
    const { refused, holder: named } = await other.take('a')
    expect(refused).toBe('LOCKED')
    expect(named).toEqual({ pid: holder.pid, host: hostname(), startedAt: expect.any(Number) })
    expect(Math.abs(named!.startedAt - before)).toBeLessThan(60_000)
    expect(await other.take('b')).toEqual({})
    expect(await other.take('a', { force: true })).toEqual({})
  })

  it('B10: is free as soon as its holder is killed, though a process that the holder started lives on', async () => {
    const [holder, other] = [start(), start()]
    await holder.take('a')
    const { socket } = await holder.tell({ announce: 7 })
    const { pid: orphan } = await holder.tell({ start: true })
    try {
      await holder.kill()
      expect(readdirSync(path)).toEqual([socket])
      // The pid in the header is that of a process which lives: it was used again.
      expect(await other.take('a', { newest: writer({ socket: socket!, pid: orphan! }) })).toEqual({})
    } finally {
      process.kill(orphan!, 'SIGKILL')
    }
  })

  it('is free when its holder has ended, whose socket is gone then; no lock keeps a process alive', async () => {
    const [holder, other] = [start(), start()]
    await holder.take('a')
    await holder.tell({ announce: 1 })
    expect(await holder.end()).toBe(0)
    expect(readdirSync(path)).toEqual([])
    expect(await other.take('a')).toEqual({})
  })

  it('B10: is kept by a holder that is stopped; the last writer is named for it', async () => {
    const [holder, other] = [start(), start()]
    await holder.take('a')
    const { socket } = await holder.tell({ announce: 1 })
    await holder.stop()
    const newest = writer({ pid: holder.pid, socket: socket! })
    const named = { pid: holder.pid, host: 'a-host', startedAt: 1 }
    expect(await other.take('a', { newest })).toEqual({ refused: 'LOCKED', holder: named })
    expect(await other.take('b', { newest })).toEqual({ refused: 'LOCKED', holder: named })
    expect(await other.take('a')).toEqual({ refused: 'LOCKED' })
    holder.wake()
    expect((await other.take('a')).holder).toMatchObject({ pid: holder.pid, host: hostname() })
  })

  it('stays held when more have asked its stopped holder than can wait, and is greeted for again after', async () => {
    const holder = start()
    await holder.take('a')
    const { socket } = await holder.tell({ announce: 1 })
    await holder.stop()
    const address = { kind: 'folder', path, name: socket! } as const
    const answers = await Promise.all(upTo(400).map(() => systemPort.locks!.ask(address)))
    expect(new Set(answers.map(({ kind }) => kind))).toEqual(new Set(['held']))
    holder.wake()
    // Whoever waited when it answers the first order was let in when it answers the second.
    for (const order of [{}, {}]) await holder.tell(order)
    expect(await systemPort.locks!.ask(address)).toMatchObject({ greeting: expect.any(String) })
  })

  it('holds between this Node and the newest one with long-term support, whichever is first', async (context) => {
    if (process.version === `v${ltsVersion}`) context.skip(`this is Node ${ltsVersion} itself`)
    let node: string
    try {
      node = ltsNode()
    } catch (error) {
      return context.skip(`Node ${ltsVersion} could not be had: ${String(error)}`)
    }
    for (const pair of [
      [start(), start([node])],
      [start([node]), start()],
    ] as const) {
      expect(await pair[0].take('a')).toEqual({})
      expect(await pair[1].take('a')).toMatchObject({ refused: 'LOCKED', holder: { pid: pair[0].pid } })
      const { socket } = await pair[0].tell({ announce: 1 })
      const newest = writer({ socket: socket! })
      // A name of their own each, so that only the socket can tell.
      expect(await pair[1].take('b', { newest })).toMatchObject({ holder: { pid: pair[0].pid } })
      expect(await pair[0].tell({ release: true })).toEqual({})
      expect(await pair[1].take('a')).toEqual({})
      await pair[1].tell({ release: true })
    }
  }, 120_000)

  it('in another network namespace only the socket in the folder tells of the holder', async (context) => {
    const unshare = [
      ['unshare', '-n'],
      ['unshare', '-rn'],
    ].find(([command, ...words]) => spawnSync(command!, [...words, 'true']).status === 0)
    if (!unshare) return context.skip('no network namespace may be made here')
    const [holder, other] = [start(), start([...unshare, process.execPath])]
    await holder.take('a')
    const { socket } = await holder.tell({ announce: 1 })
    const newest = writer({ socket: socket! })
    expect(await other.take('a')).toEqual({})
    await other.tell({ release: true })
    expect(await other.take('a', { newest })).toMatchObject({
      refused: 'LOCKED',
      holder: { pid: holder.pid },
    })
    // What it was refused for left nothing behind: the name of that namespace is free.
    expect(await other.take('a')).toEqual({})
    await other.tell({ release: true })
    await holder.kill()
    expect(await other.take('a', { newest })).toEqual({})
  })

  it('is found in a folder whose path is long, and which got its name after the holder listened', async () => {
    const born = join(path, 'r'.repeat(120), 'o'.repeat(120), 'tmp-1')
    const named = join(path, 'r'.repeat(120), 'o'.repeat(120), 's-a')
    mkdirSync(born, { recursive: true })
    const holder = new LockProcess(born, secret)
    await holder.take('a')
    const { socket } = await holder.tell({ announce: 1 })
    renameSync(born, named)
    expect(lstatSync(join(named, socket!)).mode & 0o777).toBe(0o600)
    const other = new LockProcess(named, systemPort.random(16))
    const newest = writer({ socket: socket! })
    expect(await other.take('a', { newest })).toMatchObject({ holder: { pid: holder.pid } })
    await holder.kill()
    expect(await other.take('a', { newest })).toEqual({})
  })

  it('is not shared by the workers of a cluster', () => {
    const args = [bundled('cluster'), systemPort.random(32)]
    expect(String(spawnSync(process.execPath, args).stdout)).toBe('["held","taken"]')
  })

  it('takes no descriptor for good, held or refused', async () => {
    const [holder, other] = [start(), start()]
    await holder.take('a')
    const { socket } = await holder.tell({ announce: 1 })
    const newest = writer({ socket: socket! })
    const countBoth = async (): Promise<unknown> => [
      await holder.tell({ countDescriptors: true }),
      await other.tell({ countDescriptors: true }),
    ]
    await other.take('a')
    const before = await countBoth()
    for (const round of upTo(50)) {
      expect(await other.take('a', { newest })).toMatchObject({ refused: 'LOCKED' })
      expect(await other.take(`b ${round}`, { newest })).toMatchObject({ refused: 'LOCKED' })
    }
    expect(await countBoth()).toEqual(before)
  })
})
