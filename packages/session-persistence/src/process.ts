import { hostname } from 'node:os'

/** This process, as an error message or a claim names it. */
export interface ProcessIdentity {
  readonly pid: number
  readonly host: string
  /** Milliseconds since the epoch: a pid is used again, a pid with its start is not. */
  readonly startedAt: number
}

export function thisProcess(): ProcessIdentity {
  return { pid: process.pid, host: hostname(), startedAt: Math.round(performance.timeOrigin) }
}
