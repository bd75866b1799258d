import * as core from '@tidemark/session-core'
import { isSessionError } from '@tidemark/session-core'
import type {} from '@tidemark/session-core/cordis'
import * as persistence from '@tidemark/session-persistence'
import type {} from '@tidemark/session-persistence/cordis'
import { Context } from 'cordis'

/**
 * A host in a process of its own. It resumes a session and appends to it; each line it prints is one acknowledgement
 * or one refusal. With `rounds` it lets go after some events and resumes again, as long as it lives.
 */
const [root = '', id = '', who = '', rounds = ''] = process.argv.slice(2)

const ctx = new Context()
await ctx.plugin(core)
await ctx.plugin(persistence, { enabled: true, root, flushDelayMs: 0 })

const tell = (line: object): boolean => process.stdout.write(`${JSON.stringify(line)}\n`)

async function write(countMax: number): Promise<void> {
  const session = await ctx.sessionPersistence.resume(id)
  tell({ resumed: session.log.length })
  try {
    for (let count = 0; count < countMax; count++) {
      const { seq } = session.append('user/message', {
        parts: [{ type: 'text', text: `${who} ${count}`, author: 'agent' }],
      })
      await ctx.sessions.flush(session)
      tell({ acknowledged: seq, text: `${who} ${count}` })
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  } finally {
    await ctx.sessions.dispose(session)
  }
}

for (let round = 0; rounds === 'rounds' || round === 0; round++) {
  try {
    await write(rounds === 'rounds' ? 5 : Infinity)
  } catch (error) {
    if (!isSessionError(error)) throw error
    tell({ refused: error.code })
  }
}
