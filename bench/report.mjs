import { readFile, writeFile } from 'node:fs/promises'
import { Figures } from './figures.mjs'
import { describeMachine, describeSystems, nodeVersions } from './machine.mjs'
import { detailTables, targetTable } from './tables.mjs'

const readme = new URL('README.md', import.meta.url)

/** The tables of one run as markdown. */
export async function makeReport({ samples, unavailable, failures }, options) {
  const figures = new Figures(samples)
  const names = options.peers.filter((name) => samples.some(({ system }) => system === name))
  const busy = figures.busyElsewhere()
  const others = busy === undefined ? '' : `; meanwhile others used ${busy.toFixed(1)} processors (median)`
  const how = `${figures.runs} rounds, Node ${nodeVersions(names)}, on ${describeMachine(options.folder)}${others}.`
  return [
    `Measured on ${new Date().toISOString().slice(0, 10)}: ${how}`,
    targetTable(figures, unavailable),
    ...failures.map(inOneLine),
    'In the following tables a number in brackets is the ratio to the raw asynchronous limit on the same Node.',
    detailTables(figures),
    `What was measured:\n\n${await describeSystems(names)}`,
  ].join('\n\n')
}

/** The reason stands on a line of its own, amid a stack. */
function inOneLine(failure) {
  const [what] = failure.split(' ended with')
  const why = failure.split('\n').find((line) => /^\w*Error\b/.test(line)) ?? failure.split('\n')[0]
  return `FAILED: ${what}: ${why}`
}

/** Puts it between the markers of the README that are meant for it. */
export async function writeReport(report, { compaction }) {
  const name = compaction ? 'with compaction' : 'without compaction'
  const [from, to] = [`<!-- tables ${name} -->`, `<!-- end of tables ${name} -->`]
  const text = await readFile(readme, 'utf8')
  const [start, end] = [text.indexOf(from), text.indexOf(to)]
  if (start < 0 || end < start) throw new Error(`bench/README.md has no markers for the tables ${name}`)
  await writeFile(readme, `${text.slice(0, start + from.length)}\n\n${report}\n\n${text.slice(end)}`)
}
