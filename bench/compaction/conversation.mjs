import { output, prose } from '../text.mjs'

const startTime = 1_790_000_000_000
const millisBetween = 1_000

/** What a turn is like: how many steps it has, how many calls a step makes at once, how much a tool prints. */
export const shapes = {
  talk: { steps: [1, 1], calls: [0, 0], answerLengths: [300, 1_200], result: undefined },
  tools: { steps: [2, 6], calls: [1, 3], answerLengths: [80, 400], result: { median: 600, p99: 6_000 } },
  'large results': {
    steps: [1, 3],
    calls: [1, 1],
    answerLengths: [80, 400],
    result: { median: 4_000, p99: 40_000 },
  },
}

let texts

/** Adds turns to a list of steps, in the form in which the readers of examples/readers give a real transcript. */
export class Conversation {
  constructor(steps, shape, random) {
    texts ??= { prose: prose(), output: output() }
    this.steps = steps
    this.shape = shape
    this.random = random
  }

  /** A real transcript may stop anywhere: what it left open is interrupted, and that said. */
  close() {
    const count = (type) => this.steps.filter((step) => step.type === type).length
    if (count('step/start') > count('step/end')) this.add('step/end', {})
    if (count('turn/start') > count('turn/end')) this.add('turn/end', { reason: 'interrupted' })
  }

  addTurn() {
    this.add('turn/start', {})
    this.add('user/message', { parts: [{ ...this.prose(120, 500), author: 'human' }] })
    const stepCount = this.random.between(...this.shape.steps)
    for (let step = 0; step < stepCount; step++) this.addStep()
    this.add('turn/end', { reason: 'completed' })
  }

  addStep() {
    this.add('step/start', {})
    this.add('assistant/message', { parts: [this.prose(...this.shape.answerLengths)] })
    const callCount = this.random.between(...this.shape.calls)
    const calls = Array.from({ length: callCount }, () => this.addCall())
    for (const call of calls) this.addResult(call)
    this.add('step/end', {})
  }

  addCall() {
    const command = texts.output.take(this.random, this.random.between(20, 90))
    const data = { callId: `call_${this.random.hex(12)}`, name: 'bash', arguments: { command } }
    this.add('tool/call', data)
    return { callIndex: this.steps.length - 1, callId: data.callId }
  }

  addResult({ callIndex, callId }) {
    const { median, p99 } = this.shape.result
    const text = texts.output.take(
      this.random,
      Math.max(20, Math.min(100_000, this.random.logNormal(median, p99))),
    )
    this.add('tool/result', { callId, outcome: 'ok', parts: [{ type: 'text', text }] }, { callIndex })
  }

  prose(lengthMin, lengthMax) {
    return { type: 'text', text: proseLine(this.random, this.random.between(lengthMin, lengthMax)) }
  }

  add(type, data, more = {}) {
    const time = startTime + millisBetween * this.steps.length
    this.steps.push({ type, data, time, line: 0, ...more })
  }
}

export function proseLine(random, length) {
  texts ??= { prose: prose(), output: output() }
  return texts.prose.take(random, length)
}
