import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runExample } from './process.ts'
import { repository, scratchFolder } from './scratch.ts'

const host = join(repository, 'examples', 'host.ts')

it('the host finds after a restart what it stored, and a boundary where that ends', async () => {
  const root = join(scratchFolder(), 'sessions')
  const first = await runExample([host, root, 'One'])
  const second = await runExample([host, root, 'Two'])
  expect(first).toEqual({ code: 0, stdout: '0 user/message\n', stderr: '' })
  expect(second).toEqual({
    code: 0,
    stdout: '0 user/message\n1 session/resumed\n2 user/message\n',
    stderr: '',
  })
})
