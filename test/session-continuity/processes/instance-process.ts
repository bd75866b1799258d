import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { bundled } from '../../bundle.ts'
import type { Answer, Order } from './instance.ts'

const script = bundled('instance')

/** A host with continuity in a process of its own. */
export class InstanceProcess {
  private readonly child: ChildProcessByStdio<Writable, Readable, null>
  private readonly answers: AsyncIterator<string>

  constructor(base: string, labels: readonly string[]) {
    const words = [script, base, JSON.stringify(labels)]
    this.child = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.answers = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]()
  }

  async ready(): Promise<this> {
    await this.answers.next()
    return this
  }

  async tell(order: Order): Promise<Answer> {
    this.child.stdin.write(`${JSON.stringify(order)}\n`)
    const { value } = (await this.answers.next()) as { value: string }
    return JSON.parse(value) as Answer
  }

  /** Without waiting for an answer. */
  order(order: Order): void {
    this.child.stdin.write(`${JSON.stringify(order)}\n`)
  }

  async stop(): Promise<void> {
    this.child.kill('SIGSTOP')
    await Promise.resolve()
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const ended = once(this.child, 'close')
    this.child.kill('SIGKILL')
    await ended
  }

  async end(): Promise<number | null> {
    const ended = once(this.child, 'close') as Promise<[number | null]>
    this.child.stdin.end()
    return (await ended)[0]
  }
}
