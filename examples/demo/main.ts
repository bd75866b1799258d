import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArguments, usage } from './arguments.ts'
import { chooseCorpus, examine, type Corpus } from './corpus.ts'
import { paintFor } from './paint.ts'
import { describeStory, hasPassed, type Outcome, type Readable, type Refused } from './report.ts'
import { describeBriefly, describeTable } from './summary.ts'

type ExitCode = 0 | 1 | 2

const paint = paintFor(process.stdout, process.env)

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // Whoever read it has gone; the exit code still says how it went.
  if (error.code !== 'EPIPE') throw error
})

process.exitCode = await main(process.argv.slice(2))

async function main(words: readonly string[]): Promise<ExitCode> {
  const asked = parseArguments(words)
  if (asked.kind === 'wrong') return refuse(`${asked.reason}\n\n${usage}`)
  if (asked.kind === 'help') {
    print(usage)
    return 0
  }
  const corpus = chooseCorpus(asked.files)
  const candidates = corpus.files.map(examine)
  const refused = candidates.filter((candidate): candidate is Refused => candidate.kind === 'refused')
  const readable = candidates.filter((candidate): candidate is Readable => candidate.kind === 'readable')
  const isForgiving = corpus.source === 'shared' && readable.length > 0
  if (refused.length > 0 && !isForgiving)
    return refuse(refused.map(({ refusal }) => refusal.message).join('\n'))
  print(describeCorpus(corpus), '')
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-demo-'))
  const outcomes = await tell(readable, folder)
  if (outcomes.length + refused.length > 1) print('', ...describeTable(outcomes, refused, paint))
  const isKept = asked.keep || corpus.source !== 'shared' || !removePassed(outcomes, folder)
  const holds = outcomes.every(hasPassed)
  print('', holds ? paint('green', 'Every check holds.') : paint('red', 'Not every check holds.'))
  if (isKept) print(`Kept in ${folder}`)
  return holds ? 0 : 1
}

function describeCorpus({ source, files }: Corpus): string {
  const count = files.length === 1 ? '1 file' : `${files.length} files`
  switch (source) {
    case 'named':
      return `Tidemark demo: ${count}, as named`
    case 'shared':
      return `Tidemark demo: ${count} of ../shared/data, since none was named`
    case 'sample':
      return 'Tidemark demo: the sample, since no file was named and ../shared/data is not there'
  }
}

/** One story in detail, several in brief. */
async function tell(readable: readonly Readable[], folder: string): Promise<readonly Outcome[]> {
  // A compiler is loaded with these, which a refusal need not wait for.
  const [{ makeProgram }, { tellAll }] = await Promise.all([import('./program.ts'), import('./telling.ts')])
  const program = makeProgram()
  const isAlone = readable.length === 1
  function onTold(outcome: Outcome): void {
    const inDetail = isAlone && outcome.kind === 'told'
    print(...(inDetail ? describeStory(outcome, paint) : describeBriefly(outcome, paint)))
  }
  try {
    return await tellAll(readable, { program, folder, onTold })
  } finally {
    program.remove()
  }
}

/** Keeps the folders of those that did not pass. Whether nothing is left. */
function removePassed(outcomes: readonly Outcome[], folder: string): boolean {
  for (const outcome of outcomes) if (hasPassed(outcome)) rmSync(outcome.folder, { recursive: true })
  if (!outcomes.every(hasPassed)) return false
  rmSync(folder, { recursive: true })
  return true
}

function print(...lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`)
}

function refuse(reason: string): ExitCode {
  process.stderr.write(`${reason}\n`)
  return 2
}
