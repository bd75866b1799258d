import { systemNames, systems } from './systems.mjs'
import { isReached, targets } from './targets.mjs'

const shownApart = ['tidemark', 'tidemark-plain', 'tidemark-24', 'raw', 'raw-24']
const others = systemNames.filter((name) => !shownApart.includes(name))

/** Columns of each task's table; `ofRaw` adds the ratio to the raw limit on the same Node. */
const details = [
  {
    task: 'append',
    title: 'Durable append, one flush a turn',
    columns: [
      { figure: 'eventsPerSecond', head: 'events/s', ofRaw: true },
      { figure: 'cpuMicrosPerEvent', head: 'CPU µs/event', ofRaw: true },
      { figure: 'liveBytesPerEvent', head: 'B/event live', ofRaw: true },
      { figure: 'sealedBytesPerEvent', head: 'B/event sealed', ofRaw: true },
      { figure: 'files', head: 'files' },
      { figure: 'peakMib', head: 'peak MiB' },
      { figure: 'growthMib', head: 'growth MiB' },
      { figure: 'compactMillis', head: 'compaction ms' },
    ],
  },
  {
    task: 'latency',
    title: 'One append call, and the event loop meanwhile',
    columns: [
      { figure: 'appendP50Micros', head: 'append p50 µs', ofRaw: true },
      { figure: 'appendP99Micros', head: 'append p99 µs' },
      { figure: 'stallP50Millis', head: 'timer late p50 ms' },
      { figure: 'stallP99Millis', head: 'p99 ms' },
      { figure: 'stallMaxMillis', head: 'max ms' },
      { figure: 'loopDelayP99Millis', head: 'loop delay p99 ms' },
    ],
  },
  ...['resume', 'cold'].map((task) => ({
    task,
    title: task === 'resume' ? 'Resume in a fresh process' : 'Resume without a snapshot',
    columns: [
      { figure: 'resumeMillis', head: 'ms', ofRaw: 'resume' },
      { figure: 'openMillis', head: 'of it, opening the store' },
      { figure: 'resumeMib', head: 'MiB' },
      { figure: 'messagesMillis', head: 'first look at the messages, ms' },
    ],
  })),
  { task: 'parse', title: 'Parse each line, keep nothing', columns: [{ figure: 'parseMillis', head: 'ms' }] },
  {
    task: 'fork',
    title: 'Fork at the last event',
    columns: [
      { figure: 'forkMillis', head: 'ms', ofRaw: true },
      { figure: 'forkBytes', head: 'bytes more on disk' },
      { figure: 'forkWrittenBytes', head: 'bytes written' },
    ],
  },
  {
    task: 'last',
    title: 'Last 10 events of a stored session',
    columns: [{ figure: 'lastMillis', head: 'ms' }],
  },
  { task: 'brackets', title: 'Bracket status', columns: [{ figure: 'bracketMicros', head: 'µs' }] },
  { task: 'list', title: 'First page of a list', columns: [{ figure: 'listMillis', head: 'ms' }] },
]

/** One row for each figure that is to be reached. */
export function targetTable(figures, unavailable) {
  const isMeasured = (target) => systemNames.some((system) => target.measure(figures, system) !== undefined)
  const rows = targets.filter(isMeasured).map((target) => {
    const show = (system) => withUnit(target.measure(figures, system), target.unit)
    const value = target.measure(figures, 'tidemark')
    const hasAim = target.min !== undefined || target.max !== undefined
    const verdict = value === undefined || !hasAim ? '' : isReached(target, value) ? 'yes' : '**no**'
    const beside = others
      .filter((system) => target.measure(figures, system) !== undefined)
      .map((system) => `${systems[system].label.replace(/, Node 24$/, '')} ${show(system)}`)
    const own = value === undefined ? 'not available' : show('tidemark')
    return [target.what(figures), aim(target), own, verdict, show('tidemark-24'), beside.join('; ')]
  })
  const head = ['what', 'target', 'Tidemark', 'reached', 'on Node 24', 'others']
  return [table(head, rows), ...notAvailable(unavailable)].join('\n\n')
}

/** Every figure of every task, for those who want to know more. */
export function detailTables(figures) {
  return details
    .flatMap(({ task, title, columns }) =>
      figures.sizesOf(task).map((size) => {
        const measured = systemNames.filter((system) =>
          columns.some(({ figure }) => figures.value({ task, size, figure, system }) !== undefined),
        )
        const rows = measured.map((system) => [
          systems[system].label,
          ...columns.map((column) => cell(figures, { task, size, figure: column.figure, system }, column)),
        ])
        const unit = task === 'list' ? 'sessions' : 'events'
        const shown = table(['', ...columns.map(({ head }) => head)], rows)
        return `#### ${title}: ${size.toLocaleString('en')} ${unit}\n\n${shown}`
      }),
    )
    .join('\n\n')
}

function cell(figures, place, { ofRaw }) {
  const value = figures.value(place)
  if (value === undefined) return ''
  const base = typeof ofRaw === 'string' ? { task: ofRaw } : {}
  const ratio = ofRaw ? figures.againstRaw(place, base) : undefined
  return ratio === undefined ? format(value) : `${format(value)} (${format(ratio)})`
}

function notAvailable(unavailable) {
  const own = [...unavailable].filter(([key]) => key.endsWith(' tidemark'))
  if (own.length === 0) return []
  return [`Not available here: ${own.map(([key, why]) => `${key.split(' ')[0]} (${why})`).join(', ')}.`]
}

function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

const aim = ({ min, max, unit }) => withUnit(min ?? max, unit, min === undefined ? '<= ' : '>= ')

function withUnit(value, unit, before = '') {
  if (value === undefined) return ''
  return `${before}${format(value)}${unit === undefined ? '' : ` ${unit}`}`
}

function format(value) {
  const size = Math.abs(value)
  if (size >= 100) return Math.round(value).toLocaleString('en')
  return String(Number(value.toPrecision(size >= 10 ? 3 : 2)))
}
