import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { bundled } from '../../bundle.ts'
import { told, type Identity, type Line } from './line.ts'
import type { FollowerTerms } from './follower.ts'
import type { StoryTerms } from './story.ts'
import type { WriterTerms } from './writer.ts'

const scripts = { follower: bundled('follower'), writer: bundled('writer'), story: bundled('story') }

export interface ChildOptions {
  /** Default: the Node that runs this. */
  readonly node?: string
}

/** A host in a process of its own, and what it has said so far. */
export class Child {
  readonly lines: Line[] = []
  private readonly process: ChildProcess
  private readonly ended: Promise<unknown>
  private readonly waiting = new Set<() => void>()
  private isOver = false
  private errors = ''

  constructor(
    script: keyof typeof scripts,
    terms: FollowerTerms | WriterTerms | StoryTerms,
    options: ChildOptions = {},
  ) {
    const args = [scripts[script], JSON.stringify(terms)]
    this.process = spawn(options.node ?? process.execPath, args, {
      stdio: 'pipe',
      // A story makes its calls to the file system in one thread: a count of them means the same in every run.
      env: { ...process.env, ...(script === 'story' && { UV_THREADPOOL_SIZE: '1' }) },
    })
    createInterface({ input: this.process.stdout! }).on('line', (line) => {
      this.lines.push(JSON.parse(line) as Line)
      this.wake()
    })
    this.process.stderr!.setEncoding('utf8').on('data', (text: string) => (this.errors += text))
    this.process.stdin!.on('error', () => undefined) // it may be dead before it is told to go
    this.ended = once(this.process, 'close').then(() => {
      this.isOver = true
      this.wake()
    })
  }

  get pid(): number {
    return this.process.pid!
  }

  /** The signal that ended it. */
  get endedBy(): NodeJS.Signals | null {
    return this.process.signalCode
  }

  get identity(): Identity {
    const { pid, host, startedAt } = told(this.lines, 'ready')[0]!
    return { pid, host, startedAt }
  }

  /** Waits until it has loaded everything. */
  async ready(): Promise<void> {
    await this.until((lines) => told(lines, 'ready').length > 0)
  }

  /** Lets it begin. */
  go(): void {
    this.process.stdin!.write('go\n')
  }

  signal(name: NodeJS.Signals): void {
    this.process.kill(name)
  }

  /** Waits until it has said something, or fails with what it said instead. */
  async until(isDone: (lines: readonly Line[]) => boolean): Promise<void> {
    while (!isDone(this.lines)) {
      if (this.isOver)
        throw new TypeError(`the child said only: ${JSON.stringify(this.lines.at(-1))} ${this.errors}`)
      await new Promise<void>((resolve) => this.waiting.add(resolve))
    }
  }

  /** Resolves when it is gone, and all that it said was read. */
  async gone(): Promise<void> {
    await this.ended
  }

  /** Kills it at once, wherever it is. */
  async kill(): Promise<void> {
    this.signal('SIGKILL')
    await this.ended
  }

  private wake(): void {
    const waiting = [...this.waiting]
    this.waiting.clear()
    for (const resolve of waiting) resolve()
  }
}
