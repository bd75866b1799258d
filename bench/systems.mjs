import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { versionsOf } from './adapters/system.mjs'

const lts = 24
const major = Number(process.versions.node.split('.')[0])

/**
 * Who is measured. `on24`: on Node 24, because it needs that, or beside one that does. On a Node that is as new
 * already, the second ones of a pair are left out. `tasks`: all that it is asked for.
 */
export const systems = {
  tidemark: { adapter: 'tidemark', label: 'Tidemark' },
  'tidemark-plain': {
    adapter: 'tidemark',
    options: { compress: false },
    tasks: ['append'],
    label: 'Tidemark, not compressed',
  },
  raw: { adapter: 'raw', label: 'raw limit' },
  'raw-sync': { adapter: 'raw', options: { isSync: true }, label: 'raw limit, synchronous' },
  sqlite: { adapter: 'sqlite', label: 'better-sqlite3' },
  langgraph: { adapter: 'langgraph', label: 'LangGraph SQLite saver' },
  'tidemark-24': { adapter: 'tidemark', on24: true, twinOf: 'tidemark', label: 'Tidemark, Node 24' },
  'raw-24': { adapter: 'raw', on24: true, twinOf: 'raw', label: 'raw limit, Node 24' },
  dsh: { adapter: 'dsh', on24: true, label: 'DeepSeek Harness, Node 24' },
  pi: { adapter: 'pi', on24: true, label: 'pi, Node 24' },
}

export const systemNames = Object.keys(systems).filter((name) => major < lts || !systems[name].twinOf)

/** The one that a system on Node 24 is compared with. */
export function twinFor(name, of) {
  const twin = systemNames.find((each) => systems[each].twinOf === of)
  return systems[name]?.on24 && twin !== undefined ? twin : of
}

/** Whether a system is asked for a task; what was made is verified in any case. */
export function isAskedFor(name, task) {
  const { tasks } = systems[name]
  return tasks === undefined || task === 'verify' || tasks.includes(task)
}

/** The Node for a system; undefined when it is not there. */
export function nodeFor(name) {
  if (!systems[name].on24 || major >= lts) return process.execPath
  const platform = `${process.platform}-${process.arch}`
  const path = fileURLToPath(new URL(`node_modules/node-${platform}/bin/node`, import.meta.url))
  return existsSync(path) ? path : undefined
}

export async function loadSystem(name) {
  const { adapter, options } = systems[name]
  const { default: Adapter } = await import(`./adapters/${adapter}.mjs`)
  return new Adapter(options)
}

/** Versions and notes, for a report. */
export async function describeSystem(name) {
  const { default: Adapter } = await import(`./adapters/${systems[name].adapter}.mjs`)
  return { versions: versionsOf(Adapter.packages), notes: Adapter.notes }
}
