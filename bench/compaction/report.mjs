import { readFile, writeFile } from 'node:fs/promises'
import { versionsOf } from '../adapters/system.mjs'
import { describeMachine } from '../machine.mjs'
import { costTable, growthLine, growthTable } from './cost-tables.mjs'
import { readTable } from './read-table.mjs'
import { mustTable } from './must-table.mjs'
import { depthTable, kindTable, recallTable, survivalTable } from './survival-tables.mjs'
import { count } from './table.mjs'
import { findBroken } from './verdict.mjs'

const readme = new URL('README.md', import.meta.url)
const [from, to] = ['<!-- tables -->', '<!-- end of tables -->']
const packages = ['cordis', '@tidemark/session-core', '@tidemark/session-persistence', '@tidemark/compaction']
const brokenShownMax = 20

/** The tables of one run as markdown. */
export function makeReport(run, options) {
  const { samples, notices, marks, transcripts } = run
  return [
    introduction(run, options),
    readTable(transcripts),
    ...(notices.length > 0 ? [`Left out:\n\n${notices.map((notice) => `- ${notice}`).join('\n')}`] : []),
    '#### What must hold',
    mustTable(samples),
    ...brokenLines(samples),
    '#### Unpinned facts: which of them survive',
    survivalTable(samples, marks),
    recallTable(samples, marks),
    ...['real', 'generated'].flatMap((source) => bySource(samples, { source, marks })),
    '#### The same by depth',
    depthTable(samples, marks),
    `#### The same by kind, after ${named(marks[0])}`,
    kindTable(samples, marks[0]),
    '#### What it costs',
    costTable(samples),
    growthTable(samples),
    growthLine(samples),
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

/** Puts it between the markers of the README. */
export async function writeReport(report) {
  const text = await readFile(readme, 'utf8')
  const [start, end] = [text.indexOf(from), text.indexOf(to)]
  if (start < 0 || end < start) throw new Error('bench/compaction/README.md has no markers for the tables')
  await writeFile(readme, `${text.slice(0, start + from.length)}\n\n${report}\n\n${text.slice(end)}`)
}

function introduction({ samples, transcripts, busy }, { replicates, compactions, context, seed, folder }) {
  const versions = Object.entries(versionsOf(packages)).map(([name, version]) => `\`${name}\` ${version}`)
  const real = transcripts.filter(({ source }) => source === 'real').length
  const others = busy === undefined ? '' : `; meanwhile others used ${busy.toFixed(1)} processors`
  const where = `Node ${process.version}, ${describeMachine(folder)}${others}`
  return [
    `Measured on ${new Date().toISOString().slice(0, 10)}: ${where}.`,
    `${versions.join(', ')}. ${real} real and ${transcripts.length - real} generated transcripts, ${replicates}`,
    `replicates, ${compactions} compactions in a row, a context of ${count(context)} tokens, seed ${seed};`,
    `${count(samples.length)} runs.`,
  ].join(' ')
}

function brokenLines(samples) {
  const broken = findBroken(samples)
  if (broken.length === 0) return []
  const shown = broken.slice(0, brokenShownMax).map((line) => `- ${line}`)
  const rest = broken.length - shown.length
  return [`FAILED:\n\n${shown.join('\n')}${rest > 0 ? `\n- and ${count(rest)} more` : ''}`]
}

function bySource(samples, { source, marks }) {
  const chosen = samples.filter((sample) => sample.source === source)
  if (chosen.length === 0) return []
  return [`Of ${source} transcripts alone:`, survivalTable(chosen, marks)]
}

const named = (number) => (number === 1 ? 'one compaction' : `${number} compactions`)
