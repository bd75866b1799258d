import { isEvent, isSessionError, type Session, type SessionView } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { say, start, stop } from '../host.ts'
import { wholeHistory } from '../window/told.ts'
import { textOf, told, type Line, type Written } from './line.ts'

/** What a root holds, compared with what writers said of it. Each entry names a session. */
export interface Findings {
  /** Events that were acknowledged, over all sessions. */
  acknowledged: number
  /** Sessions that had a torn end. */
  recovered: number
  /** Acknowledged, and not there or not equal. */
  readonly lost: string[]
  /** There, and told by no writer. */
  readonly invented: string[]
  /** Batches that are there in part. */
  readonly halved: string[]
  /** Refusals of what is legal after a crash, and second recoveries. */
  readonly refused: string[]
}

/** A root in which nothing is wrong. */
export const nothingWrong = { lost: [], invented: [], halved: [], refused: [] } as const

export const noFindings = (): Findings => ({
  acknowledged: 0,
  recovered: 0,
  lost: [],
  invented: [],
  halved: [],
  refused: [],
})

export function addFindings(sum: Findings, more: Findings): void {
  sum.acknowledged += more.acknowledged
  sum.recovered += more.recovered
  for (const kind of ['lost', 'invented', 'halved', 'refused'] as const) sum[kind].push(...more[kind])
}

export function countsOf({ acknowledged, recovered, lost, invented, halved, refused }: Findings) {
  return {
    acknowledged,
    recovered,
    lost: lost.length,
    invented: invented.length,
    halved: halved.length,
    refused: refused.length,
  }
}

/** What is expected of one session. */
interface Expected {
  isBegun: boolean
  parent?: { readonly id: string; readonly through: number }
  readonly written: (readonly Written[])[]
  readonly acknowledged: (readonly Written[])[]
}

/**
 * Opens a root as the next process would, after writers that told these lines: reads each session, resumes it, goes
 * on with it, lets go and resumes it once more.
 */
export async function examine(root: string, lines: readonly Line[]): Promise<Findings> {
  const findings = noFindings()
  const started = await start({ enabled: true, root, flushDelayMs: 0 })
  try {
    for (const [id, expected] of expectedOf(lines)) {
      await new Examination(started.ctx, { id, expected, findings }).run()
    }
  } finally {
    await stop(started)
  }
  return findings
}

/** Sessions that the lines name, and what they say of each. */
function expectedOf(lines: readonly Line[]): Map<string, Expected> {
  const sessions = new Map<string, Expected>()
  const at = (id: string): Expected => {
    const known = sessions.get(id) ?? { isBegun: false, written: [], acknowledged: [] }
    sessions.set(id, known)
    return known
  }
  for (const { id, parent } of told(lines, 'beginning')) Object.assign(at(id), parent && { parent })
  for (const { id } of [...told(lines, 'begun'), ...told(lines, 'resumed')]) at(id).isBegun = true
  for (const { id, events } of told(lines, 'writing')) at(id).written.push(events)
  for (const { id, events } of told(lines, 'acknowledged')) at(id).acknowledged.push(events)
  return sessions
}

interface ExaminedSession {
  readonly id: string
  readonly expected: Expected
  readonly findings: Findings
}

class Examination {
  private readonly id: string
  private readonly expected: Expected
  private readonly findings: Findings

  constructor(
    private readonly ctx: Context,
    { id, expected, findings }: ExaminedSession,
  ) {
    this.id = id
    this.expected = expected
    this.findings = findings
  }

  async run(): Promise<void> {
    const acknowledged = this.expected.acknowledged.flat()
    this.findings.acknowledged += acknowledged.length
    try {
      const view = await this.ctx.sessionPersistence.inspect(this.id)
      this.compare(await textsIn(view))
      await this.compareWithParent(view)
      await this.goOn()
    } catch (error) {
      if (!isSessionError(error)) throw error
      const { code, message } = error
      if (code !== 'NOT_FOUND') this.findings.refused.push(`${this.id}: ${code}: ${message}`)
      else if (this.expected.isBegun) this.findings.lost.push(`${this.id}: all of it`)
    }
  }

  private compare(stored: ReadonlyMap<number, string>): void {
    for (const each of this.expected.acknowledged.flat()) {
      if (stored.get(each.seq) !== textOf(each)) this.findings.lost.push(`${this.id}: ${each.label}`)
    }
    const own = new Set(
      [...stored].filter(([seq]) => seq > (this.expected.parent?.through ?? -1)).map(textAt),
    )
    for (const batch of this.expected.written) {
      const there = batch.filter((each) => own.delete(textOf(each)))
      if (there.length % batch.length === 0) continue
      this.findings.halved.push(`${this.id}: ${there.length} of ${batch.length} from ${batch[0]?.label}`)
    }
    for (const text of own) this.findings.invented.push(`${this.id}: ${text.slice(0, 40)}`)
  }

  /** A fork holds what it inherited, whatever became of its parent. */
  private async compareWithParent(view: SessionView): Promise<void> {
    const { parent } = this.expected
    if (parent === undefined) return
    const inherited = await textsIn(await this.ctx.sessionPersistence.inspect(parent.id))
    const stored = await textsIn(view)
    for (const [seq, text] of inherited) {
      if (seq <= parent.through && stored.get(seq) !== text)
        this.findings.lost.push(`${this.id}: seq ${seq} of ${parent.id}`)
    }
  }

  /** Resumes it, appends, lets go; the second time there is nothing left to recover. */
  private async goOn(): Promise<void> {
    const before = await textsIn(await this.ctx.sessionPersistence.inspect(this.id))
    let session = await this.ctx.sessionPersistence.resume(this.id)
    const recovered = await recoveries(session)
    const resumed = await textsIn(session)
    if (recovered > 0) this.findings.recovered++
    for (const [seq, text] of before) {
      if (resumed.get(seq) !== text) this.findings.lost.push(`${this.id}: seq ${seq}, when resumed`)
    }
    const { seq } = say(session, 'goes on')
    await this.ctx.sessions.flush(session)
    await this.ctx.sessions.dispose(session)
    session = await this.ctx.sessionPersistence.resume(this.id)
    if ((await recoveries(session)) !== recovered)
      this.findings.refused.push(`${this.id}: was recovered twice`)
    if ((await textsIn(session)).get(seq) !== 'goes on')
      this.findings.lost.push(`${this.id}: what it went on with`)
    await this.ctx.sessions.dispose(session)
    const verdict = await this.ctx.get('sessionStorage')!.verify(this.id)
    if (verdict.kind !== 'intact') this.findings.refused.push(`${this.id}: ${JSON.stringify(verdict)}`)
  }
}

const textAt = ([, text]: [number, string]): string => text

const recoveries = async (session: Session): Promise<number> =>
  (await wholeHistory(session)).filter(({ type }) => type === 'session/recovered').length

/** The messages of a log by seq, of what is in memory and of what is not. */
async function textsIn(view: SessionView): Promise<Map<number, string>> {
  const texts = new Map<number, string>()
  for (const event of await wholeHistory(view)) {
    const part = isEvent(event, 'user/message') ? event.data.parts[0] : undefined
    if (part && 'text' in part) texts.set(event.seq, part.text)
  }
  return texts
}
