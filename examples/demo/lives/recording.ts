import type { Session } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { Recording } from '../../readers/step.ts'
import { readTranscript } from '../../readers/transcript.ts'
import { chooseFacts } from '../fact.ts'

export interface Recorded {
  readonly turnCount: number
  /** Facts that were too many to pin. */
  readonly leftOutCount: number
  readonly facts: readonly { readonly text: string; readonly seq: number }[]
}

/** Records a transcript event by event, and pins each fact when it has been said, unless its label does that. */
export async function recordTranscript(
  ctx: Context,
  session: Session,
  { file, afterTurn }: { file: string; afterTurn: () => Promise<void> },
): Promise<Recorded> {
  const { steps } = readTranscript(file)
  const { facts: lines, leftOutCount } = chooseFacts(steps)
  const recording = new Recording(session)
  const facts: { text: string; seq: number }[] = []
  let turnCount = 0
  for (const [index, step] of steps.entries()) {
    const { seq: sourceSeq } = recording.record(step)
    for (const { text } of lines.filter((line) => line.index === index)) {
      const labelled = ctx.compaction.facts(session).find((fact) => fact.text === text)
      const { seq } = labelled ?? ctx.compaction.pin(session, { text, sourceSeq, by: 'demo' })
      facts.push({ text, seq })
    }
    if (step.type === 'turn/start') turnCount++
    if (step.type === 'turn/end') await afterTurn()
  }
  return { turnCount, facts, leftOutCount }
}
