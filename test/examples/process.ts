import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { repository } from './scratch.ts'

export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a TypeScript file of this repository as a process of its own, as a reader would. */
export async function runExample(words: readonly string[], cwd = repository): Promise<Ran> {
  const args = ['--import', import.meta.resolve('tsx'), ...words]
  const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout, stderr }
}
