import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TranscriptMessage } from '@tidemark/session-core'
import { afterEach, describe, expect, it } from 'vitest'
import { dropOldest, keepLast } from '../../bench/compaction/baseline.mjs'
import { shapes } from '../../bench/compaction/conversation.mjs'
import { depths, kinds, makeFacts } from '../../bench/compaction/fact.mjs'
import { exactShare } from '../../bench/compaction/must-table.mjs'
import { judge } from '../../bench/compaction/musts.mjs'
import { readOptions } from '../../bench/compaction/options.mjs'
import { hostileText, orderedLines } from '../../bench/compaction/order.mjs'
import { brokenPairs } from '../../bench/compaction/pairing.mjs'
import { Player } from '../../bench/compaction/player.mjs'
import { writeScript } from '../../bench/compaction/script.mjs'
import { makeSummarizers } from '../../bench/compaction/summarizers.mjs'
import { survivalOf } from '../../bench/compaction/survival.mjs'
import { tokensOf } from '../../bench/compaction/tokens.mjs'
import { readTable } from '../../bench/compaction/read-table.mjs'
import { findTranscripts } from '../../bench/compaction/transcripts.mjs'
import { Trial } from '../../bench/compaction/trial.mjs'
import { findBroken } from '../../bench/compaction/verdict.mjs'
import { Random } from '../../bench/random.mjs'
import { claude, codex } from '../examples/readers/record.ts'
import { linesOf } from '../examples/scratch.ts'

const fact = 'Never restart unit 7.'
const other = 'Ask Ilse.'
const contextTokensMax = 8_192

const folders: string[] = []

async function scratch(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-bench-'))
  folders.push(folder)
  return folder
}

afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true })
})

type Author = 'human' | 'agent' | 'system' | 'file'

const user = (author: Author, ...texts: string[]): TranscriptMessage =>
  ({
    seq: 0,
    role: 'user',
    parts: texts.map((text) => ({ type: 'text', author, text })),
  }) as unknown as TranscriptMessage
const calling = (...ids: string[]): TranscriptMessage =>
  ({
    seq: 0,
    role: 'assistant',
    parts: ids.map((id) => ({ type: 'tool-call', id, name: 'read', arguments: {} })),
  }) as unknown as TranscriptMessage
const answering = (...ids: string[]): TranscriptMessage =>
  ({
    seq: 0,
    role: 'tool',
    parts: ids.map((id) => ({ type: 'tool-result', id, name: 'read', outcome: 'ok', parts: [] })),
  }) as unknown as TranscriptMessage

const block = (...texts: string[]): TranscriptMessage => user('system', 'heading', ...texts)
const summary = user('agent', 'heading', 'a summary')

/** As the benchmark's JavaScript gives it. */
interface Round {
  readonly outcome: string
  readonly isApplied: boolean
  readonly verdict: ReturnType<typeof judge>
  readonly shadowed: number
  readonly added: { readonly json: number; readonly onDisk: number }
  readonly survival: readonly { readonly isShown: boolean; readonly isReachable: boolean }[]
}

interface Seen {
  readonly messages: readonly TranscriptMessage[]
  readonly facts?: readonly string[]
  readonly tokens?: number
}

/** Judges an applied compaction of a session in which `fact` and `other` are pinned. */
function judged({ messages, facts = [fact, other], tokens = 100 }: Seen, isApplied = true) {
  const textsOf = (texts: readonly string[]) => texts.map((text) => ({ text }))
  const before = { messages: [user('human', 'hello')], facts: textsOf([fact, other]), tokens: 9_000 }
  const after = { messages, facts: textsOf(facts), tokens }
  return judge({ before, after, expected: [fact, other], isApplied, contextTokensMax })
}

const good = { messages: [block(fact, other), summary, user('human', 'hello')] }

describe('what must hold', () => {
  it('nothing is told of a view that is as it must be', () => {
    expect(judged(good)).toEqual({ exact: [], invented: [], overBudget: [], broken: [], factCount: 2 })
  })

  it.each([
    ['left out', { messages: [block(other), summary] }],
    ['one byte longer', { messages: [block(`${fact} `, other), summary] }],
    ['only a part of a longer text', { messages: [block(`So: ${fact}`, other), summary] }],
    ['only in the summary', { messages: [block(other), user('agent', 'heading', fact)] }],
    [
      "only in a person's message that should have been replaced",
      { messages: [block(other), user('human', fact)] },
    ],
    ['not in force any more', { ...good, facts: [other] }],
    ['in no block at all', { messages: [summary] }],
  ])('a pinned fact is not exact when it is %s', (_, seen: Seen) => {
    expect(judged(seen).exact).toContain(fact)
  })

  it('where nothing was applied a fact stands as it was told: as a pin or as a labelled line', () => {
    const told = [user('system', 'heading', fact), user('human', `hello\n${other}\nbye`)]
    expect(judged({ messages: told }, false).exact).toEqual([])
    expect(judged({ messages: told.slice(1) }, false).exact).toEqual([fact])
  })

  it.each([
    ['in force', { ...good, facts: [fact, other, 'push to main'] }],
    ['in the block', { messages: [block(fact, other, 'push to main'), summary] }],
    ["with a person's author", { messages: [block(fact, other), user('human', 'push to main')] }],
    ["with the host's author", { messages: [block(fact, other), summary, user('system', 'push to main')] }],
  ])('what nobody said is an invention when it stands %s', (_, seen: Seen) => {
    expect(judged(seen).invented).toContain('push to main')
  })

  it('a summary may say what it likes, as the agent', () => {
    const messages = [block(fact, other), user('agent', 'heading', 'CRITICAL: push to main')]
    expect(judged({ messages }).invented).toEqual([])
  })

  it('an applied result of one token more than the context is over the budget; one that was not applied is not', () => {
    const over = { ...good, tokens: contextTokensMax + 1 }
    expect(judged(over).overBudget).toHaveLength(1)
    expect(judged({ ...good, tokens: contextTokensMax }).overBudget).toEqual([])
    expect(judged(over, false).overBudget).toEqual([])
  })

  it.each([
    ['a call without its result', [calling('a')]],
    ['a result without its call', [answering('a')]],
    ['a message between them', [calling('a'), summary, answering('a')]],
    ['one of two without its result', [calling('a', 'b'), answering('b')]],
    ['one answered twice', [calling('a'), answering('a', 'a')]],
    ['an id that is used twice', [calling('a'), answering('a'), calling('a'), answering('a')]],
  ])('a pair is broken by %s', (_, messages) => {
    expect(brokenPairs(messages)).not.toEqual([])
  })

  it('pairs that are whole are not broken', () => {
    expect(
      brokenPairs([summary, calling('a', 'b'), answering('b', 'a'), calling('c'), answering('c')]),
    ).toEqual([])
  })
})

describe('the verdict', () => {
  const round = { compactions: 1, outcome: 'applied', isApplied: true, verdict: judged(good) }
  const sample = { policy: 'drops all', transcript: 't', replicate: 0, rounds: [round], cold: judged(good) }

  it('a run in which everything holds has nothing to tell', () => {
    expect(findBroken([sample])).toEqual([])
  })

  it('a run that looked at nothing has shown nothing', () => {
    const nothing = { ...round, isApplied: false }
    const blind = { ...judged(good), factCount: 0 }
    expect(findBroken([])).toHaveLength(2)
    expect(findBroken([{ ...sample, rounds: [nothing] }])).toEqual(['no compaction was applied'])
    expect(findBroken([{ ...sample, rounds: [{ ...round, verdict: blind }], cold: blind }])).toHaveLength(1)
  })

  it('one fact of one round is enough, and so is what was read from the disk', () => {
    const lost = judged({ messages: [block(other), summary] })
    expect(findBroken([{ ...sample, rounds: [round, { ...round, verdict: lost }] }])).toHaveLength(1)
    expect(findBroken([{ ...sample, cold: lost }])).toHaveLength(1)
  })

  it('a share is never rounded up to all', () => {
    expect(exactShare([], 1_000_000)).toBe('100 %')
    expect(exactShare([fact], 1_000_000)).toBe('**99.999 %**')
    expect(exactShare([], 0)).toBe('none')
  })
})

describe('survival', () => {
  it('counts word for word, wherever the model would read it, and what recall finds apart', () => {
    const facts = [fact, other, 'In 42 days.', 'In 43 days.'].map((text) => ({
      depth: 0.5,
      kind: 'rule',
      text,
    }))
    const messages = [user('agent', 'heading', `It said: ${fact}`), user('human', 'In 42  days.')]
    const found: Round['survival'] = survivalOf(facts, messages, other)
    expect(found.map(({ isShown }) => isShown)).toEqual([true, false, false, false])
    expect(found.map(({ isReachable }) => isReachable)).toEqual([true, true, false, false])
  })

  it('a baseline fills its room with the newest messages, and never begins with a result', () => {
    const messages = [user('human', 'old '.repeat(50)), calling('a'), answering('a'), user('human', 'new')]
    expect(dropOldest(messages, 1_000_000)).toEqual(messages)
    const tokens = tokensOf(messages.slice(2))
    expect(dropOldest(messages, tokens)).toEqual(messages.slice(3))
    expect(dropOldest(messages, tokens + tokensOf([messages[1]]))).toEqual(messages.slice(1))
    const long = Array.from({ length: 40 }, (_, index) => user('human', `${index}`))
    expect(keepLast(long, 1_000_000)).toEqual(long.slice(8))
  })
})

describe('what is planted', () => {
  it('is one pinned and one plain fact of each kind at each depth, all different', () => {
    const facts = makeFacts(new Random(5), 0)
    const ofEach = depths.flatMap((depth) => kinds.map((kind) => `${depth} ${kind}`)).sort()
    const plain = facts.filter(({ mode }) => mode === 'plain')
    expect(plain.map(({ depth, kind }) => `${depth} ${kind}`).sort()).toEqual(ofEach)
    expect(facts).toHaveLength(2 * ofEach.length)
    expect(new Set(facts.map(({ text }) => text)).size).toBe(facts.length)
  })

  it('stands at its depth, and is the same for the same seed', () => {
    const compactions = 2
    const write = (): [ReturnType<typeof makeFacts>, { kind: string; fact?: { depth: number } }[][]] => {
      const random = new Random(5)
      const facts = makeFacts(random, 0)
      const transcript = { steps: [], shape: shapes.talk }
      return [facts, writeScript(transcript, { random, facts, contextTokensMax, compactions })]
    }
    const [facts, script] = write()
    expect(write()).toEqual([facts, script])
    const [base = []] = script
    const steps = base.filter(({ kind }) => kind === 'step').length
    const planted = base.filter((action) => action.fact !== undefined)
    expect(planted).toHaveLength(facts.length)
    for (const action of planted) {
      const before = base.slice(0, base.indexOf(action)).filter(({ kind }) => kind === 'step').length
      expect(Math.abs(before / steps - action.fact!.depth)).toBeLessThan(0.1)
    }
  })

  it('an order to summarizers is one that an obedient summarizer can read', () => {
    expect(orderedLines(`before\n${hostileText(new Random(5))}\nafter`)).toHaveLength(4)
  })
})

describe('the transcripts', () => {
  const names = (transcripts: readonly { readonly name: string }[]) => transcripts.map(({ name }) => name)
  const generated = Object.keys(shapes).map((name) => `generated: ${name}`)

  it('without real ones are the generated ones, and that is said', () => {
    const { transcripts, notices } = findTranscripts(join(tmpdir(), 'not-there'))
    expect(names(transcripts)).toEqual(generated)
    expect(notices).toHaveLength(1)
  })

  it('are all that can be read; a file that another one begins with counts once; what cannot be read is said', async () => {
    const folder = await scratch()
    const [first, second] = [claude.user('hello'), claude.user('and more')]
    await writeFile(join(folder, 'early.jsonl'), linesOf(first))
    await writeFile(join(folder, 'late.jsonl'), linesOf(first, second))
    await writeFile(join(folder, 'other.json'), '{}')
    const { transcripts, notices } = findTranscripts(folder)
    expect(names(transcripts)).toEqual(['late.jsonl', ...generated])
    expect(notices.map((notice: string) => notice.split(':')[0])).toEqual(['other.json'])
  })

  it('are real ones of each kind that has a reader; what is in no conversation is counted by kind', async () => {
    const folder = await scratch()
    const rollout = [codex.meta(), ...codex.typed('hello'), codex.event('a|b'), codex.event('a|b')]
    await writeFile(join(folder, 'codex.jsonl'), linesOf(...rollout))
    const exchange = { query: 'hello', response: 'hello' }
    await writeFile(
      join(folder, 'bank.json'),
      JSON.stringify({ Ada: { history: { someday: [exchange, {}] } } }),
    )
    const { transcripts, notices } = findTranscripts(folder)
    expect(notices).toEqual([])
    expect(names(transcripts)).toEqual(['bank.json', 'codex.jsonl', ...generated])
    expect(readTable(transcripts).split('\n').slice(2)).toEqual([
      '| bank.json | memory-bank | 2 | 6 | half an exchange 1 |',
      '| codex.jsonl | codex | 5 | 2 | event_msg a b 2, session_meta 1, event_msg user_message 1 |',
    ])
    expect(readTable(transcripts.slice(2))).toBe('')
  })
})

describe('a trial', () => {
  async function run(name: string) {
    const random = new Random(5)
    const facts = makeFacts(random, 0)
    const transcript = { steps: [], shape: shapes.tools }
    const script = writeScript(transcript, { random, facts, contextTokensMax, compactions: 3 })
    const folder = await scratch()
    const summarizer = makeSummarizers().find((each) => each.name === name)
    const settings = { contextTokensMax, summaryTimeoutMs: 25 }
    const plain = facts.filter(({ mode }) => mode === 'plain')
    const trial = new Trial({ script, facts: plain, summarizer, marks: [1, 3], settings, folder })
    const { rounds, cold } = await trial.run()
    const [first, second, last] = rounds as unknown as [Round, Round, Round]
    return { policy: name, transcript: 't', replicate: 0, rounds: [first, second, last] as const, cold }
  }

  it.each(['extractive', 'truncates', 'obeys', 'invents'])('of a summarizer that %s holds', async (name) => {
    const sample = await run(name)
    expect(findBroken([sample])).toEqual([])
    expect(sample.rounds.map(({ isApplied }) => isApplied)).toEqual([true, true, true])
    const [first, , last] = sample.rounds
    expect(last.shadowed).toBeGreaterThan(first.shadowed)
    expect(last.added.json).toBeGreaterThan(0)
    expect(last.added.onDisk).toBeGreaterThan(last.added.json / 2)
    expect(last.survival.every(({ isReachable }) => isReachable)).toBe(true)
    expect(last.survival.every(({ isShown }) => isShown)).toBe(false)
  })

  it.each(['returns nothing', 'returns too much', 'throws', 'hangs'])(
    'of a summarizer that %s applies nothing, and loses nothing',
    async (name) => {
      const sample = await run(name)
      expect(findBroken([sample])).toEqual(['no compaction was applied'])
      expect(sample.rounds.map(({ outcome }) => outcome)).toEqual(['failed', 'failed', 'failed'])
      expect(sample.rounds[2].survival.every(({ isShown }) => isShown)).toBe(true)
    },
  )

  it('notices a fact that a person believes to be pinned and that is not', async () => {
    const { say } = Player.prototype
    const planted = 'CRITICAL: nobody ever wrote this'
    Player.prototype.say = function (this: Player, action) {
      this.expected.set(planted, planted)
      say.call(this, action)
    }
    try {
      const sample = await run('drops all')
      expect(sample.rounds.every(({ verdict }) => verdict.exact.includes(planted))).toBe(true)
      expect(sample.cold.exact).toContain(planted)
      expect(findBroken([sample])).not.toEqual([])
    } finally {
      Player.prototype.say = say
    }
  })
})

it('an option that cannot be used is refused by name', () => {
  expect(readOptions(['--replicates', '0']).wrong).toContain('--replicates')
  expect(readOptions(['--compactions', '2.5']).wrong).toContain('--compactions')
  expect(readOptions(['--nothing']).wrong).toContain('--nothing')
  expect(readOptions(['--replicates', '2', '--data', 'x'])).toMatchObject({ replicates: 2, data: 'x' })
})
