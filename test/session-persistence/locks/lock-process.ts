import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { bundled } from '../../bundle.ts'
import type { Order } from './holder.ts'

interface Answer {
  readonly refused?: string
  readonly holder?: { readonly pid: number; readonly host: string; readonly startedAt: number }
  readonly socket?: string
  readonly pid?: number
  readonly held?: number
  readonly descriptors?: number
}

const script = bundled('holder')
const repository = fileURLToPath(new URL('../../..', import.meta.url))
const running = new Set<LockProcess>()

/** A process of its own, which takes locks in a folder as it is told. */
export class LockProcess {
  readonly pid: number
  private readonly process: ChildProcess
  private readonly answers: AsyncIterator<string>
  private readonly ended: Promise<unknown[]>
  private errors = ''

  constructor(path: string, secret: string, [command, ...words]: readonly string[] = [process.execPath]) {
    const args = [...words, script, path, secret]
    this.process = spawn(command!, args, { cwd: repository, stdio: 'pipe' })
    this.pid = this.process.pid!
    this.answers = createInterface({ input: this.process.stdout! })[Symbol.asyncIterator]()
    this.process.stderr!.setEncoding('utf8').on('data', (text: string) => (this.errors += text))
    this.ended = once(this.process, 'close')
    running.add(this)
  }

  /** Gives an order, and waits for the answer. */
  async tell(order: Order): Promise<Answer> {
    this.process.stdin!.write(`${JSON.stringify(order)}\n`)
    const answer = await this.answers.next()
    if (answer.done) throw new TypeError(`the process ended: ${this.errors}`)
    return JSON.parse(answer.value) as Answer
  }

  take(id: string, more: Omit<NonNullable<Order['take']>, 'id'> = {}): Promise<Answer> {
    return this.tell({ take: { id, ...more } })
  }

  /** Stops it as a debugger or a full machine does; resolves when it stands. */
  async stop(): Promise<void> {
    process.kill(this.pid, 'SIGSTOP')
    while (!readFileSync(`/proc/${this.pid}/stat`, 'utf8').includes(') T ')) await new Promise(setImmediate)
  }

  wake(): void {
    process.kill(this.pid, 'SIGCONT')
  }

  /** Gives no more orders; resolves with the exit code when it has ended by itself. */
  async end(): Promise<unknown> {
    this.process.stdin!.end()
    return (await this.ended)[0]
  }

  /** Kills it at once, wherever it is. */
  async kill(): Promise<void> {
    running.delete(this)
    this.process.kill('SIGKILL')
    await this.ended
  }
}

export async function killAll(): Promise<void> {
  await Promise.all([...running].map((each) => each.kill()))
}
