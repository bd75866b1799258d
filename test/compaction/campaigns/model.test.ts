import fc from 'fast-check'
import { expect, it } from 'vitest'
import { load } from '../host.ts'
import { kinds, World, type Kind } from '../model.ts'

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
const few = fc.commands(commands, { maxCommands: 6, size: 'max' })
const many = fc.commands(commands, { maxCommands: 40, size: 'max' })
const runs = Number(process.env['TIDEMARK_MODEL_RUNS'] ?? 10_000)

it('G35: in any order of what may happen, facts stand, calls are paired, nothing blocks, and the log only grows', async () => {
  const host = await load()
  const loaded = { plugin: host.plugin }
  let steps = 0
  let told = 0
  const applied = { count: 0 }
  host.ctx.on('tidemark/compaction', ({ log }, { outcome }) => {
    told += 1
    if (outcome === 'applied' && log.length > 0) applied.count += 1
  })
  await fc.assert(
    fc.asyncProperty(fc.oneof({ weight: 9, arbitrary: few }, { weight: 1, arbitrary: many }), async (all) => {
      const world = new World(host, loaded)
      try {
        await fc.asyncModelRun(() => ({ model: { steps: 0 }, real: world }), all)
      } finally {
        await world.end()
      }
      steps += [...all].length
    }),
    { numRuns: runs, seed: 20_260_113 },
  )
  // Or it would have tried nothing.
  expect([steps > 3 * runs, told > runs / 10, applied.count > runs / 50]).toEqual([true, true, true])
}, 300_000)
