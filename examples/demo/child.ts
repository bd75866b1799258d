import { fork, type ChildProcess } from 'node:child_process'
import type { Program } from './program.ts'
import type { Job, Reports, Word } from './protocol.ts'

/** The longest that any process of the story is waited for. */
const waitMsMax = 45_000

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null }

export interface ChildOptions {
  readonly cwd?: string
  readonly onWord?: (word: Word) => void
}

/**
 * One process of the story. It is ended by its own pid, at the latest when `end` is called.
 */
export class Child<Life extends keyof Reports> {
  readonly pid: number
  private readonly process: ChildProcess
  private readonly exited: Promise<Exit>
  private readonly reported: Promise<Reports[Life]>

  constructor(program: Program, job: Job & { readonly life: Life }, { cwd, onWord }: ChildOptions = {}) {
    this.process = fork(program.entry, {
      cwd,
      env: environment(),
      execArgv: [...program.execArgv],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.pid = this.process.pid ?? -1
    this.exited = exitOf(this.process)
    this.reported = this.listen(onWord)
    // Whoever does not ask for the report learns of a failure by the exit.
    this.reported.catch(() => undefined)
    this.process.send(job)
  }

  /** What the process found. Rejects when it fails, ends without a word, or takes too long. */
  report(): Promise<Reports[Life]> {
    return this.bounded(this.reported, 'report')
  }

  exit(): Promise<Exit> {
    return this.bounded(this.exited, 'exit')
  }

  /** A real SIGKILL: the process runs no code any more. */
  async kill(): Promise<Exit> {
    this.process.kill('SIGKILL')
    return this.exit()
  }

  /** Makes sure that it is gone, whatever happened. */
  async end(): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) await this.kill()
  }

  private listen(onWord?: (word: Word) => void): Promise<Reports[Life]> {
    return new Promise((resolve, reject) => {
      this.process.on('message', (message) => {
        const word = message as Word
        onWord?.(word)
        if (word.kind === 'report') resolve(word.report as Reports[Life])
        if (word.kind === 'failed') reject(new Error(word.reason))
      })
      this.process.on('error', reject)
      void this.exited.then(({ code, signal }) =>
        reject(new Error(`process ${this.pid} ended (${code ?? signal}) without a report`)),
      )
    })
  }

  private async bounded<T>(outcome: Promise<T>, what: string): Promise<T> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      const reason = new Error(`process ${this.pid}: no ${what} within ${waitMsMax} ms`)
      timer = setTimeout(() => reject(reason), waitMsMax)
    })
    try {
      return await Promise.race([outcome, late])
    } finally {
      clearTimeout(timer)
    }
  }
}

/** When the last word has been heard too, which an `exit` does not wait for. */
function exitOf(process: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => process.once('close', (code, signal) => resolve({ code, signal })))
}

/** Children decide by their configuration alone. */
function environment(): NodeJS.ProcessEnv {
  const { TIDEMARK_SHARED_RUNTIME: _, ...rest } = process.env
  return rest
}
