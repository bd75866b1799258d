import { parseArgs } from 'node:util'
import { systemNames } from './systems.mjs'

export const taskNames = ['append', 'latency', 'resume', 'cold', 'parse', 'fork', 'last', 'brackets', 'list']

export const usage = `Usage: npm run bench -- [options]

  --sizes 1000,10000    events of a log                 (1000,10000,100000,1000000)
  --runs 5              rounds; each figure is a median of them
  --peers a,b           systems to measure              (${systemNames.join(',')})
  --tasks x,y           what to measure                 (${taskNames.join(',')})
  --sessions 10000      sessions to list
  --no-compaction       the transcript is never made smaller
  --quick               one round, small sizes: shows that everything runs, and nothing else
  --folder path         where the logs are written; its disk is the one that is measured
  --keep                adds to the samples of the last run, in place of beginning anew
  --again               the report of the last run's samples; measures nothing
  --check               a short run whose ratios are compared with bench/baseline.json
  --rebase              as --check, and makes its ratios the baseline
  --help                print this`

const full = { sizes: [1_000, 10_000, 100_000, 1_000_000], runs: 5, sessions: 10_000 }
const quick = { sizes: [1_000, 10_000], runs: 1, sessions: 200 }

/** What is asked for, or `{ wrong }`: why it cannot be had. */
export function readOptions(words) {
  try {
    return decide(parseArgs({ args: words, options: shape, allowNegative: true }).values)
  } catch (error) {
    if (!/^ERR_PARSE_ARGS/.test(error.code)) throw error
    return { wrong: error.message }
  }
}

const shape = {
  sizes: { type: 'string' },
  runs: { type: 'string' },
  peers: { type: 'string' },
  tasks: { type: 'string' },
  sessions: { type: 'string' },
  folder: { type: 'string' },
  compaction: { type: 'boolean', default: true },
  quick: { type: 'boolean', default: false },
  keep: { type: 'boolean', default: false },
  again: { type: 'boolean', default: false },
  check: { type: 'boolean', default: false },
  rebase: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
}

function decide({ sizes, runs, peers, tasks, sessions, ...rest }) {
  const base = rest.quick ? quick : full
  const options = {
    ...rest,
    sizes: sizes?.split(',').map(Number) ?? base.sizes,
    runs: runs === undefined ? base.runs : Number(runs),
    sessions: sessions === undefined ? base.sessions : Number(sessions),
    peers: peers?.split(',') ?? systemNames,
    tasks: tasks?.split(',') ?? taskNames,
  }
  const numbers = [...options.sizes, options.runs, options.sessions]
  if (!numbers.every((each) => Number.isInteger(each) && each > 0 && each <= 10_000_000))
    return { wrong: 'sizes, runs and sessions are whole numbers from 1 to 10,000,000' }
  const unknown =
    options.peers.find((each) => !systemNames.includes(each)) ??
    options.tasks.find((each) => !taskNames.includes(each))
  return unknown === undefined ? options : { wrong: `nothing here is called ${unknown}` }
}
