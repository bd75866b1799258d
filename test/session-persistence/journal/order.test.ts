import { JournalStorage, type JournalPort } from '@tidemark/session-persistence/journal'
import { beforeEach, describe, expect, it } from 'vitest'
import { appendNext, headerOf, newClaim } from '../batches.ts'
import { codeOf } from '../refusal.ts'
import { FaultyPort } from './faulty-port.ts'
import { MemoryPort } from './memory-port.ts'

let disk: MemoryPort
let port: FaultyPort
let storage: JournalStorage
beforeEach(async () => {
  disk = new MemoryPort()
  port = new FaultyPort(disk)
  storage = new JournalStorage({ root: '/journal', port: port.wrapped })
  await appendNext(await storage.create(headerOf('first'), { claim: newClaim() }))
})

/** The calls that some work makes, without those that only look. */
async function changesOf(work: () => Promise<unknown>): Promise<string[]> {
  const from = port.calls.length
  await work()
  const looks = ['networkFs', 'realpath', 'fstat', 'open', 'read', 'close', 'stat', 'readdir']
  return port.calls.slice(from).filter((name) => !looks.includes(name))
}

/** What tells lists that a session may change. */
const marking = ['create', 'syncFolder']

describe('the order of what is done to the disk', () => {
  it('K05: a session is durable before it has its name, and the name before it is told', async () => {
    const changes = await changesOf(() => storage.create(headerOf('a'), { claim: newClaim() }))
    expect(changes.slice(0, 7)).toEqual([
      'mkdir',
      'create',
      'write',
      'sync',
      'syncFolder',
      'rename',
      'syncFolder',
    ])
    expect(changes.slice(7)).toEqual(marking)
  })

  it('a claim is created, then the log is read, then the claim is written, synced, and looked at', async () => {
    const from = port.calls.length
    await storage.acquire('first', { claim: newClaim() })
    const calls = port.calls.slice(from)
    const changes = calls.filter((name) => ['create', 'write', 'sync', 'syncFolder'].includes(name))
    expect(changes).toEqual(['syncFolder', 'create', 'sync', 'syncFolder', 'write', 'sync', ...marking])
    const claimed = calls.indexOf('syncFolder', calls.indexOf('create'))
    const written = calls.lastIndexOf('write')
    expect(calls.slice(claimed, written)).toContain('read')
    const look = ['readdir', 'stat']
    const marked = ['create', 'fstat', 'close', 'syncFolder']
    expect(calls.slice(written)).toEqual(['write', 'sync', ...look, ...look, ...marked])
  })

  it('G11: a batch is one write and one sync, with a look before a byte is written and one before it is told', async () => {
    const lease = await storage.acquire('first', { claim: newClaim() })
    const from = port.calls.length
    await appendNext(lease, 50)
    const look = ['readdir', 'stat']
    expect(port.calls.slice(from)).toEqual([...look, 'write', 'sync', ...look, ...look])
  })

  it('B01, G14: a writer that was taken over from is refused before it writes a byte', async () => {
    const stale = await storage.acquire('first', { claim: newClaim() })
    await storage.acquire('first', { claim: newClaim() })
    const files = disk.files()
    expect(await changesOf(() => codeOf(() => appendNext(stale)))).toEqual([])
    expect(disk.files()).toEqual(files)
  })

  it('a claimant that finds a later claim when it reads withdraws: it writes nothing, and removes nothing', async () => {
    let isOvertaken = false
    const overtaken: JournalPort = {
      ...port.wrapped,
      syncFolder: async (path) => {
        await disk.syncFolder(path)
        if (isOvertaken || !path.endsWith('s-first')) return
        isOvertaken = true
        await appendNext(await storage.acquire('first', { claim: newClaim() }))
      },
    }
    const slow = new JournalStorage({ root: '/journal', port: overtaken })
    expect(await codeOf(() => slow.acquire('first', { claim: newClaim() }))).toBe('FENCED')
    const sizes = [...disk.files()]
      .filter(([path]) => path.includes('/s-first/'))
      .map(([, content]) => content.length > 0)
    expect(sizes).toEqual([true, false, true])
  })
})
