import { Recording } from '../../examples/readers/step.ts'

/** Plays a script into a session, and knows what has to be in force. */
export class Player {
  /** The texts of the facts in force, by key, or by the line itself where it has none. */
  expected = new Map()

  constructor(ctx, session) {
    this.ctx = ctx
    this.session = session
    this.recording = new Recording(session)
    /** Seqs of the calls that were planted. */
    this.callSeqs = new Map()
  }

  play(actions) {
    for (const action of actions) this[action.kind](action)
  }

  step({ step }) {
    this.recording.record(step)
  }

  say({ parts, fact }) {
    this.session.append('user/message', { parts })
    if (fact?.mode === 'label') this.expected.set(fact.text, fact.text)
  }

  pin({ fact: { key, text } }) {
    this.ctx.compaction.pin(this.session, { key, text, by: 'bench' })
    this.expected.set(key, text)
  }

  unpin({ fact: { key } }) {
    this.ctx.compaction.unpin(this.session, key)
    this.expected.delete(key)
  }

  /** A call and its result, at once. */
  tool({ text }) {
    const callId = `planted_${this.callSeqs.size}`
    this.call({ callId })
    this.answer({ callId, text })
  }

  call({ callId }) {
    const { seq } = this.session.append('tool/call', { callId, name: 'read', arguments: {} })
    this.callSeqs.set(callId, seq)
  }

  answer({ callId, text = 'At last.' }) {
    const callSeq = this.callSeqs.get(callId)
    const parts = [{ type: 'text', text }]
    this.session.append('tool/result', { callId, callSeq, outcome: 'ok', parts })
  }
}
