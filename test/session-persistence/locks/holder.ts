import { spawn } from 'node:child_process'
import { closeSync, openSync, readdirSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setImmediate as turn } from 'node:timers/promises'
import { isSessionError } from '@tidemark/session-core'
import { systemPort } from '../../../packages/session-persistence/src/journal/fs.ts'
import { SessionLock, type SegmentHolder } from '../../../packages/session-persistence/src/journal/lock.ts'

export interface Order {
  readonly take?: { readonly id: string; readonly force?: boolean; readonly newest?: SegmentHolder }
  readonly announce?: number
  readonly release?: true
  readonly churn?: { readonly id: string; readonly attempts: number }
  readonly start?: true
  readonly countDescriptors?: true
}

/** A process of its own that takes locks as it is told: an order in, an answer out, a line each. */
const [path = '', secret = ''] = process.argv.slice(2)
let lock: SessionLock | undefined

async function take({ id, force = false, newest }: NonNullable<Order['take']>): Promise<SessionLock> {
  const taken = await SessionLock.take({ port: systemPort, id, path }, { secret, force, holder: newest })
  if (newest) await taken.refuseHolder(newest)
  return taken
}

/** Takes and releases, over and over; a file that only one can create tells whether it was alone. */
async function churn({ id, attempts }: NonNullable<Order['churn']>): Promise<object> {
  const judge = join(path, 'held')
  let held = 0
  for (let attempt = 0; attempt < attempts; attempt++) {
    try {
      const taken = await take({ id })
      held++
      closeSync(openSync(judge, 'wx'))
      await turn()
      unlinkSync(judge)
      await taken.release()
    } catch (error) {
      if (!isSessionError(error)) throw error
    }
  }
  return { held }
}

async function obey(order: Order): Promise<object> {
  if (order.take) lock = await take(order.take)
  if (order.announce !== undefined) return { socket: await lock?.announce(order.announce) }
  if (order.release) await lock?.release()
  if (order.churn) return churn(order.churn)
  if (order.start) return { pid: spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)']).pid }
  if (order.countDescriptors) return { descriptors: readdirSync('/proc/self/fd').length }
  return {}
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer: object
  try {
    answer = await obey(JSON.parse(line) as Order)
  } catch (error) {
    if (!isSessionError(error)) throw error
    answer = { refused: error.code, holder: error.details.holder }
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}
