import type { Config, Tokenizer } from '@tidemark/compaction'
import * as persistence from '@tidemark/session-persistence'
import * as memory from '@tidemark/session-persistence/memory'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { deals } from '../deals.ts'
import { load } from '../host.ts'
import { kinds, World, type Kind, type Met, type Place } from '../model.ts'

/** The model is the log itself, scanned as simply as can be after each command. */
interface Model {
  readonly steps: number
}

class Command implements fc.AsyncCommand<Model, World> {
  constructor(
    private readonly kind: Kind,
    private readonly pick: number,
  ) {}

  check(): boolean {
    return true
  }

  run(_model: Model, world: World): Promise<void> {
    return world.act(this.kind, this.pick)
  }

  toString(): string {
    return `${this.kind} ${this.pick}`
  }
}

const commands = kinds.map((kind) => fc.nat(60).map((pick) => new Command(kind, pick)))
const usual = fc.commands(commands, { maxCommands: 15, size: 'max' })
const many = fc.commands(commands, { maxCommands: 30, size: 'max' })
const sequences = fc.oneof({ weight: 19, arbitrary: usual }, { weight: 1, arbitrary: many })
const runs = Number(process.env['TIDEMARK_MODEL_RUNS'] ?? 10_000)

const tokenizer: Tokenizer = { name: 'characters', count: (text) => text.length }
const budget: Partial<Config> = {
  contextTokensMax: 6_000,
  tokenizer,
  automatic: true,
  summarizer: { name: 'short', summarize: async () => ({ text: 'in short' }) },
}

async function placeOf(config: Partial<Config>, { isStored }: { isStored: boolean }): Promise<Place> {
  const { ctx, plugin } = await load(config)
  ctx.sessions.define(deals)
  if (isStored) {
    await ctx.plugin(memory)
    await ctx.plugin(persistence, { enabled: true })
  }
  return { ctx, plugin, config, isStored }
}

/** How many sequences of each 1,000 must have met something. */
const share = (count: number): number => Math.round((count / runs) * 1_000)

it('G35: in any order of what may happen, facts stand, calls are paired, nothing blocks, and the log only grows', async () => {
  const plain = await placeOf({}, { isStored: false })
  const counting = await placeOf(budget, { isStored: false })
  const stored = await placeOf({}, { isStored: true })
  const places = { plain, counting, stored }
  const where = fc.oneof(
    { weight: 14, arbitrary: fc.constant('plain' as const) },
    { weight: 4, arbitrary: fc.constant('counting' as const) },
    { weight: 2, arbitrary: fc.constant('stored' as const) },
  )
  const all: (Met & { place: keyof typeof places })[] = []
  await fc.assert(
    fc.asyncProperty(where, fc.nat(60), sequences, async (place, pick, told) => {
      const world = await World.begin(places[place], pick)
      try {
        await fc.asyncModelRun(() => ({ model: { steps: 0 }, real: world }), told)
      } finally {
        await world.end()
      }
      all.push({ ...world.met, place })
    }),
    { numRuns: runs, seed: 20_260_113 },
  )
  const met = (isMet: (each: (typeof all)[number]) => boolean): number => share(all.filter(isMet).length)
  const figures = {
    started: met(({ starts }) => starts > 0),
    applied: met(({ applied }) => applied > 0),
    twice: met(({ applied }) => applied > 1),
    crashed: met(({ crashedLive }) => crashedLive),
    forked: met(({ forkedLive }) => forkedLive),
    cancelled: met(({ cancelledLive }) => cancelledLive),
    inParent: met(({ parentWentOn }) => parentWentOn),
    automatic: met(({ place, applied }) => place === 'counting' && applied > 0),
    resumed: met(({ place, applied }) => place === 'stored' && applied > 0),
  }
  // Or it would have tried nothing.
  const least = { started: 500, applied: 250, twice: 50, crashed: 10, forked: 10, cancelled: 10 }
  for (const [what, count] of Object.entries({ ...least, inParent: 5, automatic: 10, resumed: 10 }))
    expect(figures, what).toHaveProperty(
      what,
      expect.toSatisfy((found: number) => found >= count),
    )
}, 900_000)
