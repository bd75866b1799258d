import { expect, it } from 'vitest'
import { checkStory } from '../../../examples/demo/checks.ts'
import type { Story } from '../../../examples/demo/story.ts'

const size = { messageCount: 2, sizeBytes: 900, factsSizeBytes: 10 }
const seen = (status: 'live' | 'orphaned') => [{ bracket: 'compaction', seq: 2, status }]
const untouched = { eventCount: 9, sizeBytes: 90, digest: 'x' }

/** A story in which everything holds; digests stand for events. */
const story: Story = {
  root: '/nowhere',
  tookMs: 1,
  told: { durableSeq: 2, digests: ['e0', 'e1', 'e2'] },
  killed: {
    pid: 1,
    exit: { code: null, signal: 'SIGKILL' },
    report: {
      incarnation: 'a',
      turnCount: 1,
      facts: [{ text: 'CRITICAL: x', seq: 1 }],
      leftOutCount: 0,
      eventCount: 3,
      transcriptDigest: 't',
      compactStartSeq: 2,
      forkedAtSeq: 2,
      brackets: seen('live'),
      forkBrackets: seen('orphaned'),
    },
  },
  resumed: {
    pid: 2,
    exit: { code: 0, signal: null },
    report: {
      incarnation: 'b',
      boundarySeqs: [3],
      digests: ['e0', 'e1', 'e2', 'b3'],
      brackets: seen('orphaned'),
      forkBrackets: seen('orphaned'),
      forkBoundarySeq: 3,
      before: size,
      compaction: { outcome: 'applied', from: 0, through: 1 },
      after: { ...size, sizeBytes: 100 },
      unpaired: undefined,
      missingFacts: [],
      durableSeq: 7,
    },
  },
  orderly: {
    pid: 3,
    exit: { code: 0, signal: null },
    report: {
      incarnation: 'd',
      boundarySeqs: [3, 8],
      lastSeqFound: 7,
      missingFacts: [],
      untouched: [untouched, untouched, untouched],
    },
  },
  stateless: {
    pid: 4,
    exit: { code: 0, signal: null },
    touched: [],
    report: {
      state: 'off',
      sessionKind: 'memory',
      eventCount: 2,
      transcriptDigest: 't',
      resumeCode: 'DISABLED',
    },
  },
}

type Lives = 'killed' | 'resumed' | 'orderly' | 'stateless'

/** The story with something else in one of its reports. */
function altered<Life extends Lives>(life: Life, report: Partial<Story[Life]['report']>): Story {
  return { ...story, [life]: { ...story[life], report: { ...story[life].report, ...report } } }
}

const failuresOf = (told: Story): string[] =>
  checkStory(told).flatMap(({ title, outcome }) => (outcome === 'FAILED' ? [title] : []))

it('nothing fails where everything holds', () => {
  expect(checkStory(story).map(({ outcome }) => outcome)).toEqual(Array(23).fill('ok'))
})

it.each<[string, Story]>([
  ['A ended by itself', { ...story, killed: { ...story.killed, exit: { code: 0, signal: null } } }],
  ['not all was durable', { ...story, told: { durableSeq: 1, digests: ['e0', 'e1'] } }],
  ['an event is lost', altered('resumed', { digests: ['e0', 'e1'] })],
  ['an event is altered', altered('resumed', { digests: ['e0', 'x', 'e2', 'b3'] })],
  ['no boundary', altered('resumed', { boundarySeqs: [] })],
  ['two boundaries', altered('resumed', { boundarySeqs: [3, 4] })],
  ['a boundary elsewhere', altered('resumed', { boundarySeqs: [2] })],
  ['it was orphaned while A lived', altered('killed', { brackets: seen('orphaned') })],
  ['it was live in the fork', altered('killed', { forkBrackets: seen('live') })],
  ['it is live after the kill', altered('resumed', { brackets: seen('live') })],
  ['it is live in the stored fork', altered('resumed', { forkBrackets: seen('live') })],
  ['it is not seen at all', altered('resumed', { brackets: [] })],
  ['the fork is not marked', altered('resumed', { forkBoundarySeq: undefined })],
  ['the compaction is refused', altered('resumed', { compaction: { outcome: 'refused', code: 'BUSY' } })],
  ['a fact is missing', altered('resumed', { missingFacts: ['CRITICAL: x'] })],
  ['a call has no result', altered('resumed', { unpaired: 'message 0' })],
  ['nothing became smaller', altered('resumed', { after: size })],
  ['B crashed', { ...story, resumed: { ...story.resumed, exit: { code: 1, signal: null } } }],
  ['B lost what was durable', altered('orderly', { lastSeqFound: 6, boundarySeqs: [3, 7] })],
  ['D has no boundary', altered('orderly', { boundarySeqs: [3] })],
  ['a fact was lost later', altered('orderly', { missingFacts: ['CRITICAL: x'] })],
  ['opening it grew it', altered('orderly', { untouched: [untouched, { ...untouched, eventCount: 10 }] })],
  ['C was on', altered('stateless', { state: 'on' })],
  ['C recorded something else', altered('stateless', { transcriptDigest: 'other' })],
  ['C touched a file', { ...story, stateless: { ...story.stateless, touched: ['/nowhere/file'] } }],
  ['C resumed', altered('stateless', { resumeCode: 'resumed' })],
])('a check fails where %s', (_what, told) => {
  expect(failuresOf(told)).not.toEqual([])
})

it('where there was too little to compact, that is said and not counted as a failure', () => {
  const short = altered('killed', { compactStartSeq: undefined, eventCount: 3, brackets: [] })
  const told = { ...short, stateless: altered('stateless', { eventCount: 3 }).stateless }
  expect(failuresOf(told)).toEqual([])
  expect(checkStory(told).filter(({ outcome }) => outcome === 'skipped')).toHaveLength(5)
})
