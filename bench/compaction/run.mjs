import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { Random } from '../random.mjs'
import { measureBaselines } from './baseline.mjs'
import { makeFacts } from './fact.mjs'
import { writeScript } from './script.mjs'
import { makeSummarizers } from './summarizers.mjs'
import { findTranscripts } from './transcripts.mjs'
import { Trial } from './trial.mjs'

const marksWished = [1, 2, 5, 10, 20]
/** For all summarizers: none but the one that hangs waits for anything. */
const summaryTimeoutMs = 25

/** Every transcript under every summarizer, as often as there are replicates. Gives `{ samples, notices, marks }`. */
export async function runAll(options, tell) {
  const { transcripts, notices } = findTranscripts(options.data)
  for (const notice of notices) tell(`left out: ${notice}`)
  const marks = [
    ...new Set([...marksWished.filter((mark) => mark < options.compactions), options.compactions]),
  ]
  const samples = []
  for (let replicate = 0; replicate < options.replicates; replicate++) {
    for (const [index, transcript] of transcripts.entries()) {
      const from = performance.now()
      const random = new Random(options.seed + 7_919 * replicate + 104_729 * index)
      const found = await measure(transcript, { ...options, random, replicate, marks })
      const { name, source } = transcript
      for (const sample of found) samples.push({ transcript: name, source, replicate, ...sample })
      const seconds = ((performance.now() - from) / 1_000).toFixed(1)
      tell(`replicate ${replicate + 1}, ${name}: ${seconds} s`)
    }
  }
  return { samples, notices, marks, transcripts }
}

/** One script under all summarizers, and without any. */
async function measure(transcript, { random, replicate, marks, compactions, context, folder }) {
  const facts = makeFacts(random, replicate)
  const script = writeScript(transcript, { random, facts, contextTokensMax: context, compactions })
  const settings = { contextTokensMax: context, summaryTimeoutMs }
  const plain = facts.filter(({ mode }) => mode === 'plain')
  const samples = []
  for (const summarizer of makeSummarizers()) {
    const root = await mkdtemp(join(folder, 'trial-'))
    const trial = new Trial({ script, facts: plain, summarizer, marks, settings, folder: root })
    samples.push({ policy: summarizer.name, ...(await trial.run()) })
  }
  const [byDefault] = samples
  const tokensAt = (round) => byDefault.rounds[round - 1].tokens
  return [...samples, ...(await measureBaselines({ script, facts: plain, marks, settings, tokensAt }))]
}
