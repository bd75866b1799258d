import { parseArgs } from 'node:util'
import { fileURLToPath } from 'node:url'

export const defaults = { replicates: 2, compactions: 20, context: 8_192, seed: 1 }
const bounds = {
  replicates: [1, 1_000],
  compactions: [1, 200],
  context: [4_096, 1_000_000],
  seed: [0, 2 ** 31 - 1],
}
const shared = fileURLToPath(new URL('../../../shared/data', import.meta.url))

export const usage = `Usage: npm run bench:compaction -- [options]

  --replicates 2      how often each transcript is taken, with other facts in it
  --compactions 20    how many compactions there are in a row
  --data folder       real transcripts, of Claude Code, Codex or pi, and memory banks; ../shared/data,
                      where it is there
  --context 8192      tokens that the transcript may take
  --seed 1            the same seed gives the same run, but for its times
  --folder path       where the logs are written
  --help              print this

Exit code: 0 when everything holds that must, 1 when something does not, 2 when an option cannot be used.`

const shape = {
  ...Object.fromEntries(Object.keys(defaults).map((name) => [name, { type: 'string' }])),
  data: { type: 'string', default: shared },
  folder: { type: 'string' },
  help: { type: 'boolean', default: false },
}

/** What is asked for, or `{ wrong }`: why it cannot be had. */
export function readOptions(words) {
  try {
    return decide(parseArgs({ args: words, options: shape }).values)
  } catch (error) {
    if (!/^ERR_PARSE_ARGS/.test(error.code)) throw error
    return { wrong: error.message }
  }
}

function decide(values) {
  const options = { ...values }
  for (const [name, [min, max]] of Object.entries(bounds)) {
    options[name] = values[name] === undefined ? defaults[name] : Number(values[name])
    const fits = Number.isInteger(options[name]) && min <= options[name] && options[name] <= max
    if (!fits) return { wrong: `--${name} is a whole number from ${min} to ${max}` }
  }
  return options
}

/** Shorter runs show that everything holds; they are not worth a table for others. */
export function isFullRun({ replicates, compactions }) {
  return replicates >= defaults.replicates && compactions >= defaults.compactions
}
