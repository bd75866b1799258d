import {
  provePlanted,
  stories,
  testCampaign,
  type PlantedFault,
  type PlantedTerms,
  type Subject,
} from '@tidemark/session-persistence/testkit'
import { afterAll, describe, vi } from 'vitest'
import type * as Heads from '../../../packages/session-persistence/src/journal/head.ts'
import type * as Reading from '../../../packages/session-persistence/src/journal/log-reader.ts'
import type * as Looking from '../../../packages/session-persistence/src/journal/own-segment.ts'
import type * as Rule from '../../../packages/session-persistence/src/journal/recover.ts'
import type * as Starting from '../../../packages/session-persistence/src/journal/segment-start.ts'
import type * as Succeeding from '../../../packages/session-persistence/src/journal/succession.ts'
import type * as Tails from '../../../packages/session-persistence/src/journal/tail.ts'
import { journalWith, type Durability } from './journal-subject.ts'

const source = '../../../packages/session-persistence/src/journal'

/** A decision of the journal's own that is taken wrongly. */
interface SourceFault {
  readonly name: string
  readonly campaign: PlantedFault['campaign']
  /** Where it shows in more than a few states of ten thousand. Default: in all. */
  readonly stories?: typeof stories
  readonly kinds?: NonNullable<PlantedTerms['kinds']>
  readonly seeds?: readonly [number, ...number[]]
  /** Where it shows. Default: in both. */
  readonly durability?: Durability
  readonly mock: () => void
}

const failedSyncs = stories.filter(({ name }) => /^sync fails, pages (dropped|kept)$/.test(name))

const modules = ['head', 'log-reader', 'own-segment', 'recover', 'segment-start', 'succession', 'tail']

const faults: readonly SourceFault[] = [
  {
    name: 'durable heads are not read',
    campaign: 'damage',
    kinds: ['cut short'],
    mock: () =>
      vi.doMock(`${source}/head.ts`, async (original) => ({
        ...(await original<typeof Heads>()),
        readHead: async () => undefined,
      })),
  },
  {
    // No crash shows it: what was not synced is one batch, whose commit proves no more than the log before it. Nor does
    // damage where a head tells of every batch, or that leaves a second batch in sight, which is refused unproven. It
    // takes a hole from one batch into the events of the next: a block, as it lies in the logs of these seeds.
    name: 'commits beyond the end of the log are not looked for',
    campaign: 'damage',
    durability: 'lazy',
    kinds: ['block zeroed'],
    seeds: [7, 21],
    mock: () =>
      vi.doMock(`${source}/tail.ts`, async (original) => {
        const { readTail: read, ...others } = await original<typeof Tails>()
        const readTail: typeof read = async (file, span, of) => {
          const { commits } = others.noTail
          return { ...(await read(file, span, of)), commits }
        }
        return { ...others, readTail }
      }),
  },
  {
    name: 'whatever follows the log is taken for a torn write',
    campaign: 'damage',
    mock: () =>
      vi.doMock(`${source}/recover.ts`, async (original) => {
        const rule = await original<typeof Rule>()
        const judgeEnd: typeof Rule.judgeEnd = (facts) => {
          const verdict = rule.judgeEnd(facts)
          if (verdict.kind !== 'refused') return verdict
          return { kind: 'torn', class: 'unterminated', durable: { seq: facts.end.seq, by: 'nothing' } }
        }
        return { ...rule, judgeEnd }
      }),
  },
  {
    name: 'a claimant reads before it creates, and not after',
    campaign: 'crash',
    stories: failedSyncs,
    mock: () =>
      vi.doMock(`${source}/log-reader.ts`, async (original) => {
        const reader = await original<typeof Reading>()
        const readToEnd: typeof Reading.readToEnd = async (folder, terms = {}, onBatch) => {
          const { from, known } = terms
          if (from && known) return { ...from, chain: known, durable: { seq: from.tail.seq, by: 'commit' } }
          return reader.readToEnd(folder, terms, onBatch)
        }
        return { ...reader, readToEnd }
      }),
  },
  {
    name: 'a writer does not look',
    campaign: 'crash',
    mock: () =>
      vi.doMock(`${source}/own-segment.ts`, async (original) => ({
        ...(await original<typeof Looking>()),
        look: async () => [],
        glance: async () => [],
      })),
  },
  {
    name: 'a takeover seals what nothing proves durable',
    campaign: 'crash',
    mock: () =>
      vi.doMock(`${source}/succession.ts`, async (original) => {
        const actual = await original<typeof Succeeding>()
        const decideSuccession: typeof Succeeding.decideSuccession = (end) =>
          actual.decideSuccession({ ...end, durable: { seq: end.tail.seq, by: 'commit' } })
        return { ...actual, decideSuccession }
      }),
  },
  {
    name: 'a header seals its predecessor by itself',
    campaign: 'crash',
    stories: failedSyncs,
    mock: () =>
      vi.doMock(`${source}/segment-start.ts`, async (original) => {
        const actual = await original<typeof Starting>()
        const readStart: typeof Starting.readStart = async (folder, name, head) => {
          const start = await actual.readStart(folder, name, head)
          const hasHeader = start.kind === 'void' && (await actual.findHeaderIn(folder, name)) !== undefined
          return hasHeader ? { kind: 'begun', ...(await actual.readSealed(folder, name)) } : start
        }
        return { ...actual, readStart }
      }),
  },
]

/** Of what shows in a few states of ten thousand, one short campaign may try none. */
const seeds = [3, 2, 5] as const

async function proveSoon(
  subject: Subject,
  fault: PlantedFault,
  { seeds: own = seeds, ...terms }: PlantedTerms & Pick<SourceFault, 'seeds'>,
) {
  const [first, ...others] = own
  let result = await provePlanted(subject, fault, { ...terms, seed: first })
  for (const seed of others) {
    if (result.findings.every(({ problem }) => problem.kind !== 'unnoticed')) break
    result = await provePlanted(subject, fault, { ...terms, seed })
  }
  return result
}

describe.each(['lazy', 'strict'] as const)(
  'a decision that the %s journal takes wrongly is found',
  (durability) => {
    afterAll(() => vi.resetModules())
    const sound = journalWith(durability)
    for (const { name, campaign, mock, durability: shownBy = durability, ...only } of faults) {
      if (shownBy !== durability) continue
      testCampaign(name, async () => {
        for (const module of modules) vi.doUnmock(`${source}/${module}.ts`)
        vi.resetModules()
        mock()
        const { journalWith: withFault } = await import('./journal-subject.ts')
        const planted = withFault(durability)
        return proveSoon(sound, { name, campaign, plant: () => planted }, { ...only, durability })
      })
    }
  },
)
