import { appendFileSync } from 'node:fs'

/** A whole number from the environment, for a shorter trial. */
export function countFrom(variable: string, usual: number): number {
  const text = process.env[variable]
  if (text === undefined) return usual
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1) throw new TypeError(`${variable} is a count, not ${text}`)
  return count
}

/** One row of the table at the end of the run. */
export function tellFigures(what: string, figures: Readonly<Record<string, number>>): void {
  const path = process.env.TIDEMARK_LONG_FIGURES
  const line = `${JSON.stringify({ what, figures })}\n`
  if (path === undefined) process.stdout.write(line)
  else appendFileSync(path, line)
}
