import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { endAfterTest } from '../../clean-up.ts'
import { upTo } from '../batches.ts'
import { say, startJournal, textsOf } from '../host.ts'
import { scratch } from '../scratch.ts'
import { childTestMs } from './nursery.ts'
import { skipAloud } from './skip.ts'

const script = fileURLToPath(new URL('unflushed-host.mjs', import.meta.url))

interface Told {
  readonly durable: number
  readonly appended: number
}

describe('a host that never flushes', { timeout: childTestMs }, () => {
  it('K09: killed with its process group, it leaves all that was told durable and what came after in order; it is listed first', async (context) => {
    if (process.platform === 'win32') skipAloud(context, 'it has no process groups')
    const root = scratch()
    const ctx = await startJournal(root)
    const older = await ctx.sessionPersistence.create({ id: 'older' })
    say(older, 'before')
    await ctx.sessions.dispose(older)

    const child = spawn(process.execPath, [script, root, 'newer'], {
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(child, 'close')
    let isOver = false
    void ended.then(() => (isOver = true))
    const kill = (): void => void (isOver || process.kill(-child.pid!, 'SIGKILL'))
    endAfterTest(kill)
    const told: Told[] = []
    for await (const line of createInterface({ input: child.stdout })) {
      told.push(JSON.parse(line) as Told)
      if (told.length === 3) kill()
    }
    await ended

    expect(told[0]!.durable).toBeGreaterThanOrEqual(49)
    const { sessionPersistence: stored } = ctx
    const view = await stored.inspect('newer')
    expect(view.log.length).toBeGreaterThan(told.at(-1)!.durable)
    expect(textsOf(view)).toEqual(upTo(view.log.length).map(String))
    // Each write took all that had been appended when it began: what is missing came after that.
    for (const [index, { durable }] of told.slice(1).entries())
      expect(durable + 1).toBeGreaterThan(told[index]!.durable + 1)
    const { sessions } = await stored.list()
    expect(sessions.map(({ id }) => id)).toEqual(['newer', 'older'])
    expect(sessions[0]).toMatchObject({
      status: 'ok',
      lastSeq: view.log.length - 1,
      lastTime: view.log.at(view.log.length - 1).time,
    })
    expect(textsOf(await stored.resume('newer'))).toEqual(textsOf(view))
  })
})
