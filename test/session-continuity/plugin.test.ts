import * as continuity from '@tidemark/session-continuity'
import type {} from '@tidemark/session-continuity/cordis'
import { join } from 'node:path'
import { Context, type Fiber } from 'cordis'
import * as fork from '@deepseek-ai/cordis'
import { afterEach, describe, expect, it } from 'vitest'
import { scratch } from './scratch.ts'
import { provideContinuity, Config, fileStoreOf } from './source.ts'
import { World, begin, credential, everything, reasonFor, refusalOf, resume, trusting } from './world.ts'

const fibers: Fiber[] = []
afterEach(async () => {
  for (const fiber of fibers.splice(0)) await fiber.dispose()
})

const configOf = (base: string): continuity.Config => ({
  root: join(base, 'root'),
  witness: join(base, 'witness'),
  authenticators: [trusting],
  grants: everything,
})

async function start(base = scratch()): Promise<{ ctx: Context; fiber: Fiber; base: string }> {
  const ctx = new Context()
  const fiber = await ctx.plugin(continuity, configOf(base))
  fibers.push(fiber)
  return { ctx, fiber, base }
}

const open = (mode: 'begin' | 'resume') => ({ mode, credential: credential('alice'), scope: 's' }) as const

describe('the plugin', () => {
  it('provides ctx.continuity; what is open when it is unloaded ends cleanly', async () => {
    const { ctx, fiber, base } = await start()
    const handle = await ctx.continuity.open(open('begin'))
    await handle.raise('secret')
    await fiber.dispose()
    expect(handle.isOpen).toBe(false)
    const { ctx: next } = await start(base)
    const resumed = await next.continuity.open(open('resume'))
    expect(resumed.sensitivity).toBe('secret')
    expect(await next.continuity.orphans({ as: resumed })).toEqual([])
  })

  it('runs in the fork of cordis as it does in cordis', async () => {
    const base = scratch()
    const ctx = new fork.Context()
    const fiber = await ctx.plugin(continuity as never, configOf(base) as never)
    const service = ctx.get('continuity' as never) as unknown as continuity.Continuity
    const handle = await service.open(open('begin'))
    await handle.raise('secret')
    await fiber.dispose()
    expect(handle.isOpen).toBe(false)
    const { ctx: next } = await start(base)
    expect((await next.continuity.open(open('resume'))).sensitivity).toBe('secret')
  })

  it('a resume that is asked for while it is unloaded is refused, and leaves nothing open', async () => {
    const { ctx, fiber, base } = await start()
    const { continuity: service } = ctx
    await (await service.open(open('begin'))).close()
    const asked = Array.from({ length: 8 }, () => service.open(open('resume')))
    const ended = fiber.dispose()
    const late = service.open(open('resume'))
    const answers = await Promise.allSettled([...asked, late])
    await ended
    for (const answer of answers) {
      if (answer.status === 'fulfilled') expect(answer.value.isOpen).toBe(false)
      else expect(continuity.reasonOf(answer.reason)).toMatch(/^(reloading|closed)$/)
    }
    expect(answers.at(-1)!.status).toBe('rejected')
    expect(await refusalOf(() => service.open(open('resume')))).toMatchObject({
      code: 'DISPOSED',
      reason: 'reloading',
    })
    const { ctx: next } = await start(base)
    const handle = await next.continuity.open(open('resume'))
    expect(await next.continuity.orphans({ as: handle })).toEqual([])
  })

  it('two services in one process do not take each other’s handles', async () => {
    const [one, two] = [await start(), await start()]
    const handle = await one.ctx.continuity.open(open('begin'))
    expect(await reasonFor(() => two.ctx.continuity.orphans({ as: handle }))).toBe('closed')
  })

  it.each<[string, Readonly<Record<string, unknown>>]>([
    ['no root', { root: undefined }],
    ['no witness', { witness: undefined }],
    ['a floor that is no label', { floor: 'cosmic' }],
    ['a label twice', { labels: ['a', 'a'] }],
    ['a mechanism twice', { authenticators: [trusting, trusting] }],
    ['a mechanism that bears no name', { authenticators: [{ authenticate: trusting.authenticate }] }],
    ['grants that are no function', { grants: [] }],
    ['an unknown option', { grant: everything }],
  ])('a configuration with %s is refused', async (_, wrong) => {
    const config = { ...configOf('x'), ...wrong } as continuity.Config
    expect(Config.safeParse(config).success).toBe(false)
  })

  it('a host may bring a store of its own', async () => {
    const base = scratch()
    const ctx = new Context()
    const settings = Config.parse(configOf(base))
    const store = fileStoreOf(settings)!
    fibers.push(
      await ctx.plugin({
        name: 'own',
        apply: (inner: Context) => void provideContinuity(inner, settings, { store }),
      }),
    )
    expect((await ctx.continuity.open(open('begin'))).isOpen).toBe(true)
  })

  it('so many handles are open at a time, and no more', async () => {
    const process = new World().start({ config: { handlesMax: 2 } })
    const first = await begin(process)
    await resume(process)
    expect(await refusalOf(() => resume(process))).toMatchObject({
      code: 'BACK_PRESSURE',
      reason: 'too-many',
    })
    await first.close()
    expect((await resume(process)).isOpen).toBe(true)
  })
})
