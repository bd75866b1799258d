import { systemNames, systems, twinFor } from './systems.mjs'

const count = (size) => (size ?? 0).toLocaleString('en')
const peers = systemNames.filter((name) => !['tidemark', 'raw'].includes(systems[name].adapter))

const at = (figures, task, figure) => ({ task, figure, size: figures.sizesOf(task).at(-1) })

/** A figure as it is. */
const plain = (task, figure) => (figures, system) => figures.value({ ...at(figures, task, figure), system })

/** A figure against the same one of the raw limit. */
const ofRaw = (task, figure, base) => (figures, system) =>
  figures.againstRaw({ ...at(figures, task, figure), system }, base)

/**
 * What is to be reached. `measure` gives the figure of any system, so that the others stand beside. `min` or `max` is
 * the target, in `unit`.
 */
export const targets = [
  {
    what: () => 'durable append, one flush a turn: speed against the raw asynchronous limit',
    min: 0.85,
    measure: ofRaw('append', 'eventsPerSecond'),
  },
  {
    what: () => 'durable append: speed against the fastest of the others',
    min: 1,
    measure: (figures, system) => (system === 'tidemark' ? againstFastest(figures) : undefined),
  },
  {
    what: () => 'event loop at full speed: how late a 1 ms timer comes, p99',
    max: 10,
    unit: 'ms',
    measure: plain('latency', 'stallP99Millis'),
  },
  {
    what: () => 'processor time of a durable event against the raw limit, without that of compression',
    max: 1.5,
    measure: (figures, system) =>
      ofRaw('append', 'cpuMicrosPerEvent')(figures, system === 'tidemark' ? 'tidemark-plain' : system),
  },
  {
    what: () => 'the same with that of compression',
    measure: ofRaw('append', 'cpuMicrosPerEvent'),
  },
  {
    what: () => 'one `append` call, p50',
    max: 2,
    unit: 'µs',
    measure: plain('latency', 'appendP50Micros'),
  },
  {
    what: ({ smallest, largest }) =>
      `resume of ${count(largest)} events against resume of ${count(smallest)}`,
    max: 2,
    measure(figures, system) {
      const place = { task: 'resume', figure: 'resumeMillis', system }
      const { smallest, largest } = figures
      if (smallest === largest) return undefined
      return figures.ratio({ ...place, size: largest }, { ...place, size: smallest })
    },
  },
  {
    what: ({ largest }) => `resume of ${count(largest)} events: time`,
    max: 60,
    unit: 'ms',
    measure: plain('resume', 'resumeMillis'),
  },
  {
    what: ({ largest }) => `resume of ${count(largest)} events: memory above an empty host`,
    max: 40,
    unit: 'MiB',
    measure: plain('resume', 'resumeMib'),
  },
  {
    what: ({ largest }) => `resume of ${count(largest)} events without a snapshot, against parsing each line`,
    max: 0.6,
    measure: (figures, system) =>
      ofRaw(systems[system].adapter === 'tidemark' ? 'cold' : 'resume', 'resumeMillis', { task: 'resume' })(
        figures,
        system,
      ),
  },
  {
    what: ({ largest }) => `fork of ${count(largest)} events: time`,
    max: 20,
    unit: 'ms',
    measure: plain('fork', 'forkMillis'),
  },
  {
    what: ({ largest }) => `fork of ${count(largest)} events: bytes written`,
    max: 8_192,
    unit: 'B',
    measure: plain('fork', 'forkWrittenBytes'),
  },
  {
    what: (figures) =>
      `last 10 events of a stored session of ${count(figures.sizesOf('last').at(-1))} events`,
    max: 5,
    unit: 'ms',
    measure: plain('last', 'lastMillis'),
  },
  {
    what: ({ largest }) => `bracket status at ${count(largest)} events`,
    max: 1,
    unit: 'µs',
    measure: plain('brackets', 'bracketMicros'),
  },
  {
    what: (figures) => `list of ${count(figures.sizesOf('list').at(-1))} sessions, first page of 50`,
    max: 50,
    unit: 'ms',
    measure: plain('list', 'listMillis'),
  },
  {
    what: () => 'bytes on disk while a session lives, against raw JSON',
    max: 0.6,
    measure: ofRaw('append', 'liveBytesPerEvent'),
  },
  {
    what: () => 'bytes on disk after sealing, against raw JSON',
    max: 0.18,
    measure: ofRaw('append', 'sealedBytesPerEvent', { figure: 'liveBytesPerEvent' }),
  },
  {
    what: ({ largest }) => `memory of a process that appends ${count(largest)} events: peak`,
    max: 150,
    unit: 'MiB',
    measure: plain('append', 'peakMib'),
  },
  {
    what: () => 'the same: growth over the last four fifths',
    max: 32,
    unit: 'MiB',
    measure: plain('append', 'growthMib'),
  },
]

/** The least of our own speed against each of the others, on the same Node. */
function againstFastest(figures) {
  const place = at(figures, 'append', 'eventsPerSecond')
  const ratios = peers.map((peer) =>
    figures.ratio({ ...place, system: twinFor(peer, 'tidemark') }, { ...place, system: peer }),
  )
  const known = ratios.filter((ratio) => ratio !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

export const isReached = ({ min = -Infinity, max = Infinity }, value) => value >= min && value <= max
