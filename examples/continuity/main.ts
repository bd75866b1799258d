import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { isSessionError } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { scope, shownBy, startHost } from './host.ts'

/** A crash, and who may go on after it. `npx tsx examples/continuity/main.ts [folder]`, in an empty folder. */
async function main(folder = 'tidemark-continuity'): Promise<void> {
  await crash(folder)
  const ctx = await startHost(folder)
  await goOnAsAlice(ctx)
  await tryAsBob(ctx)
  await ctx.fiber.dispose()
}

async function crash(folder: string): Promise<void> {
  const script = fileURLToPath(new URL('first-life.ts', import.meta.url))
  const words = ['--import', import.meta.resolve('tsx'), script, folder]
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'inherit', 'inherit'] })
  await once(child, 'close')
}

async function goOnAsAlice({ continuity, sessionPersistence, sessions }: Context): Promise<void> {
  const alice = await continuity.open({ mode: 'resume', credential: shownBy('alice'), scope })
  console.log(`second life: alice resumes at ${alice.sensitivity}`)
  const session = await sessionPersistence.resume('deploy', { as: alice })
  console.log(
    `the session has ${session.log.length} events: ${[...session.log].map(({ type }) => type).join(', ')}`,
  )
  await sessions.dispose(session)

  const orphans = await continuity.orphans({ as: alice })
  console.log(`ended without closing: ${orphans.length}`)
  for (const { incarnation } of orphans)
    await continuity.acknowledge(incarnation, { as: alice, reason: 'the machine was restarted' })
  console.log(`after alice acknowledged it: ${(await continuity.orphans({ as: alice })).length}`)
  await alice.close()
}

/** The same scope and the same session id, and another principal. */
async function tryAsBob({ continuity, sessionPersistence }: Context): Promise<void> {
  const credential = shownBy('bob')
  console.log(`bob resumes: ${await refusalOf(() => continuity.open({ mode: 'resume', credential, scope }))}`)
  const bob = await continuity.open({ mode: 'begin', credential, scope })
  console.log(`bob begins, at ${bob.sensitivity}`)
  console.log(
    `bob asks for the session: ${await refusalOf(() => sessionPersistence.resume('deploy', { as: bob }))}`,
  )
  console.log(`bob lists: ${(await sessionPersistence.list({ as: bob })).sessions.length} sessions`)
  console.log(`refused attempts: ${continuity.refusedCount}`)
  await bob.close()
}

async function refusalOf(work: () => Promise<unknown>): Promise<string> {
  try {
    await work()
    return 'let in'
  } catch (error) {
    if (!isSessionError(error)) throw error
    return error.code
  }
}

await main(...process.argv.slice(2))
