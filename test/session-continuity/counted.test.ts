import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Handle, Refused } from '@tidemark/session-continuity'
import { describe, expect, it } from 'vitest'
import { World, begin, credential, reached, refusalOf, resume, scope, type TestProcess } from './world.ts'

function keptIn(world: World): Refused[] {
  const folder = join(world.root, 'continuity', 'refusals')
  return readdirSync(folder).flatMap((name) =>
    readFileSync(join(folder, name), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Refused),
  )
}

const forged = { incarnation: 'x', isOpen: true } as unknown as Handle

describe('every refused attempt is counted, once, and kept', () => {
  const open = (process: TestProcess, where: unknown, secret?: object) =>
    process.continuity.open({
      mode: 'resume',
      scope: where as string,
      credential: secret ?? credential('alice'),
    })

  it.each<[string, string, (process: TestProcess, handle: Handle) => Promise<unknown>]>([
    ['orphans', 'closed', ({ continuity }) => continuity.orphans({ as: forged })],
    ['acknowledge', 'closed', ({ continuity }) => continuity.acknowledge('x', { as: forged, reason: 'x' })],
    ['acknowledge', 'no-orphan', ({ continuity }, as) => continuity.acknowledge('x', { as, reason: 'x' })],
    ['resume', 'bad-scope', (process) => open(process, '')],
    ['resume', 'bad-scope', (process) => open(process, null)],
    ['verify', 'bad-scope', ({ continuity }) => continuity.verify('x'.repeat(201), {})],
    ['recover', 'bad-scope', ({ continuity }) => continuity.recover('\ud800', { reason: 'x' })],
    ['resume', 'bad-credential', (process) => open(process, scope, { mechanism: 'nobody' })],
    ['raise', 'unknown-label', (_, handle) => handle.raise('cosmic')],
    ['audit', 'no-grant', (_, handle) => handle.audit({ action: 'continuity/close' })],
  ])('%s: %s', async (operation, reason, attempt) => {
    const world = await reached()
    const process = world.start()
    const handle = await resume(process)
    expect((await refusalOf(() => attempt(process, handle))).reason).toBe(reason)
    expect(process.continuity.refusedCount).toBe(1)
    await process.continuity.close()
    expect(keptIn(world)).toMatchObject([{ operation, reason }])
  })

  it('also by a handle that is over, by its own end or by another one’s reset', async () => {
    const world = new World()
    const process = world.start()
    const [one, two] = [await begin(process), await resume(process)]
    await one.close()
    expect((await refusalOf(() => one.audit({ action: 'late' }))).reason).toBe('closed')
    await two.reset({ reason: 'again' })
    expect((await refusalOf(() => two.raise('secret'))).reason).toBe('closed')
    expect(process.continuity.refusedCount).toBe(2)
  })

  it('also while the service ends, and after; then nothing is written any more', async () => {
    const world = await reached()
    const process = world.start()
    await refusalOf(() => open(process, 'nowhere'))
    await process.continuity.close()
    const before = keptIn(world)
    for (let times = 0; times < 3; times++)
      expect((await refusalOf(() => open(process, scope))).reason).toBe('reloading')
    expect(process.continuity.refusedCount).toBe(4)
    await new Promise((resolve) => setImmediate(resolve))
    expect(keptIn(world)).toEqual(before)
  })

  it('and what works is none', async () => {
    const world = await reached()
    const process = world.start()
    const handle = await resume(process)
    await handle.audit({ action: 'deploy' })
    await process.continuity.orphans({ as: handle })
    await handle.close()
    expect(process.continuity.refusedCount).toBe(0)
  })
})
