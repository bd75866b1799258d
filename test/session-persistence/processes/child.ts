import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export interface Line {
  readonly resumed?: number
  readonly acknowledged?: number
  readonly text?: string
  readonly refused?: string
}

const script = fileURLToPath(new URL('./writer.ts', import.meta.url))
const repository = fileURLToPath(new URL('../../..', import.meta.url))

/** A writer in a process of its own, and what it has said so far. */
export class Child {
  readonly lines: Line[] = []
  private readonly process: ChildProcess
  private readonly ended: Promise<unknown>
  private errors = ''

  constructor(...words: readonly string[]) {
    const args = ['--import', import.meta.resolve('tsx'), script, ...words]
    this.process = spawn(process.execPath, args, { cwd: repository, stdio: ['ignore', 'pipe', 'pipe'] })
    createInterface({ input: this.process.stdout! }).on('line', (line) =>
      this.lines.push(JSON.parse(line) as Line),
    )
    this.process.stderr!.setEncoding('utf8').on('data', (text: string) => (this.errors += text))
    this.ended = once(this.process, 'close')
  }

  get acknowledged(): Line[] {
    return this.lines.filter((line) => line.acknowledged !== undefined)
  }

  signal(name: NodeJS.Signals): void {
    this.process.kill(name)
  }

  /** Waits until it has said something, or fails with what it said instead. */
  async until(isDone: (lines: readonly Line[]) => boolean): Promise<void> {
    for (let waits = 0; !isDone(this.lines); waits++) {
      if (waits > 3_000 || this.process.exitCode !== null)
        throw new TypeError(`the child said only: ${JSON.stringify(this.lines.at(-1))} ${this.errors}`)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }

  /** Kills it at once, wherever it is; resolves when all that it said was read. */
  async kill(): Promise<void> {
    this.signal('SIGKILL')
    await this.ended
  }
}
