// A host with continuity, that does what it is told on stdin, a line at a time. Run as a process of its own.
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import * as continuity from '@tidemark/session-continuity'
import type { Handle, Operation, Principal } from '@tidemark/session-continuity'
import type {} from '@tidemark/session-continuity/cordis'
import { Context } from 'cordis'

export interface Order {
  readonly open?: { readonly mode: 'begin' | 'resume'; readonly scope: string }
  readonly raise?: string
  readonly audit?: string
  readonly reset?: string
  readonly update?: true
  readonly orphans?: true
  readonly acknowledge?: string
  readonly close?: true
}

export interface Answer {
  readonly incarnation?: string
  readonly sensitivity?: string
  readonly generation?: number
  readonly orphans?: readonly string[]
  readonly refused?: string
}

const [base = '', labels = '[]'] = process.argv.slice(2)
const operations: readonly Operation[] = [
  ...(['begin', 'resume', 'raise', 'reset', 'orphans', 'acknowledge'] as const),
]
const ctx = new Context()
await ctx.plugin(continuity, {
  root: join(base, 'root'),
  witness: join(base, 'witness'),
  labels: JSON.parse(labels) as string[],
  authenticators: [
    { mechanism: 'test', authenticate: async (token) => JSON.parse(token ?? '') as Principal },
  ],
  grants: () => ({ operations }),
})

let handle: Handle | undefined

async function obey(order: Order): Promise<Answer> {
  if (order.open) {
    const now = Date.now()
    const principal = { id: 'alice', kind: 'human', assurance: 1, authenticatedAt: now }
    const credential = { mechanism: 'test', token: JSON.stringify(principal) }
    handle = await ctx.continuity.open({ ...order.open, credential })
  }
  const as = handle!
  if (order.raise !== undefined) await as.raise(order.raise)
  if (order.audit !== undefined) await as.audit({ action: order.audit })
  if (order.reset !== undefined) handle = await as.reset({ reason: order.reset })
  if (order.update) await as.update()
  if (order.acknowledge !== undefined)
    await ctx.continuity.acknowledge(order.acknowledge, { as, reason: 'seen' })
  const orphans =
    order.orphans && (await ctx.continuity.orphans({ as })).map(({ incarnation }) => incarnation)
  if (order.close) await as.close()
  const { incarnation, sensitivity, generation } = handle!
  return { incarnation, sensitivity, generation, ...(orphans && { orphans }) }
}

const tell = (answer: Answer): void => void process.stdout.write(`${JSON.stringify(answer)}\n`)
tell({})
for await (const line of createInterface({ input: process.stdin })) {
  try {
    tell(await obey(JSON.parse(line) as Order))
  } catch (error) {
    tell({
      refused: continuity.reasonOf(error) ?? String(error),
      ...(handle && { sensitivity: handle.sensitivity }),
    })
  }
}
await ctx.fiber.dispose()
