import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runExample } from './process.ts'
import { repository, scratchFolder } from './scratch.ts'

it('after a crash one principal goes on at the same sensitivity, another gets nothing, and the orphan is shown', async () => {
  const main = join(repository, 'examples', 'continuity', 'main.ts')
  const { code, stdout, stderr } = await runExample([main, join(scratchFolder(), 'host')])
  expect({ code, stderr, lines: stdout.trim().split('\n') }).toEqual({
    code: 0,
    stderr: '',
    lines: [
      'first life: alice is at confidential, and is killed',
      'second life: alice resumes at confidential',
      'the session has 3 events: user/message, label/raised, session/resumed',
      'ended without closing: 1',
      'after alice acknowledged it: 0',
      'bob resumes: NOT_FOUND',
      'bob begins, at public',
      'bob asks for the session: NOT_FOUND',
      'bob lists: 0 sessions',
      'refused attempts: 2',
    ],
  })
}, 60_000)
