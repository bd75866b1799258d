import { Random } from './random.mjs'
import { output, prose } from './text.mjs'

const chunksPerStep = 40
/** About 100,000 tokens: where a host compacts. */
const contextSizeBytesMax = 400_000
const resultSizeBytesMax = 262_144
const tools = ['bash', 'read', 'edit', 'grep']
const beyondLatin = ' → 完成：测试 🚀'

/**
 * What an agent does, turn by turn, in Tidemark's vocabulary. The same seed gives the same events.
 *
 * A turn is a user message and 2 to 4 steps; a step is 40 stream chunks, the message that they make up, and, but for
 * the last step, a tool call and its result. An event is `{ seq, time, type, data }`, and says in which `turn` and
 * `step` it stands, for those who store that.
 */
export class Workload {
  constructor({ seed = 1, seq = 0, compacts = true } = {}) {
    this.random = new Random(seed)
    this.prose = prose()
    this.output = output()
    this.compacts = compacts
    this.seq = seq
    this.time = 1_780_000_000_000
    this.turn = 0
    this.step = 0
    this.contextSizeBytes = 0
  }

  /** Turns until there are `count` events, in whole turns; each says what a compaction after it adds, if one is due. */
  *turns(count) {
    while (this.seq < count) {
      const events = this.nextTurn()
      const isDue = this.compacts && this.contextSizeBytes > contextSizeBytesMax && this.seq < count
      yield { events, compaction: isDue ? this.compaction() : undefined }
    }
  }

  /** All events, those of compactions too. */
  *events(count) {
    for (const { events, compaction = [] } of this.turns(count)) yield* [...events, ...compaction]
  }

  nextTurn() {
    const events = this.openTurn()
    const steps = this.random.between(2, 4)
    for (let step = 1; step <= steps; step++) events.push(...this.wholeStep(step, step < steps))
    events.push(this.event('turn/end', { reason: 'completed' }))
    return events
  }

  /** A turn that nothing has ended, with a step and a call in it. */
  interruptedTurn() {
    return [...this.openTurn(), ...this.beginStep(1), this.call()]
  }

  chunk() {
    return this.event('assistant/chunk', { kind: 'text', text: this.prose.take(this.random, 20) })
  }

  openTurn() {
    this.turn += 1
    this.step = 0
    const text = this.exotic(this.prose.take(this.random, this.random.between(150, 450)))
    return [
      this.event('turn/start', {}),
      this.message('user/message', { parts: [{ type: 'text', text, author: 'human' }] }, text),
    ]
  }

  wholeStep(step, callsTool) {
    const events = this.beginStep(step)
    if (callsTool) {
      const call = this.call()
      events.push(call, this.result(call))
    }
    events.push(this.event('step/end', {}))
    return events
  }

  beginStep(step) {
    this.step = step
    const events = [this.event('step/start', {})]
    const lengths = Array.from({ length: chunksPerStep }, () => this.random.between(8, 32))
    const from = this.prose.offset(this.random, chunksPerStep * 32)
    let offset = from
    for (const length of lengths) {
      events.push(this.event('assistant/chunk', { kind: 'text', text: this.prose.cut(offset, length) }))
      offset += length
    }
    const text = this.prose.cut(from, offset - from)
    events.push(this.message('assistant/message', { parts: [{ type: 'text', text }] }, text))
    return events
  }

  call() {
    const path = `src/${this.random.hex(8)}.ts`
    const command = this.output.take(this.random, this.random.between(50, 110))
    const data = { callId: `call_${this.random.hex(24)}`, name: this.random.pick(tools) }
    return this.message('tool/call', { ...data, arguments: { path, command } }, command)
  }

  result({ seq, data: { callId } }) {
    const size = Math.min(resultSizeBytesMax, Math.max(20, this.random.logNormal(1_500, 60_000)))
    const text = this.exotic(this.output.take(this.random, size))
    const data = { callId, callSeq: seq, outcome: 'ok', parts: [{ type: 'text', text }] }
    return this.message('tool/result', data, text)
  }

  /** What a compaction leaves in a log. Tidemark writes its own three; the others are given these. */
  compaction() {
    this.contextSizeBytes = 0
    const id = this.random.hex(32)
    const range = { from: 0, through: this.seq - 1 }
    return [
      this.event('compact/start', { id, trigger: 'manual', range }),
      this.event('compact/summary', { id, text: this.prose.take(this.random, 4_000), facts: [] }),
      this.event('compact/end', { id, outcome: 'applied' }),
    ]
  }

  message(type, data, text) {
    this.contextSizeBytes += text.length
    return this.event(type, data)
  }

  event(type, data) {
    this.time += this.random.between(1, 40)
    const { turn, step, time } = this
    return { seq: this.seq++, time, type, data, turn, step }
  }

  /** Some texts of real sessions are not in Latin letters. */
  exotic(text) {
    return this.random.next() < 0.04 ? text + beyondLatin : text
  }
}
