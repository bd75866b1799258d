import fc from 'fast-check'
import { isSessionError } from '@tidemark/session-core'
import { encodeEvent, type Lease } from '@tidemark/session-persistence'
import { JournalStorage, type JournalPort, type PortFile } from '@tidemark/session-persistence/journal'
import { expect, it } from 'vitest'
import { append, event, headerOf, newClaim, readBack, seqsOf, upTo } from '../batches.ts'
import { MemoryPort } from './memory-port.ts'

const root = '/journal'

/** A port each of whose calls waits for its turn. */
function paced(port: JournalPort, turn: (name: string) => Promise<void>): JournalPort {
  const call =
    <Args extends unknown[], T>(name: string, work: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      await turn(name)
      return work(...args)
    }
  const wrap = (file: PortFile): PortFile => ({
    read: call('read', (into, offset) => file.read(into, offset)),
    write: async (bytes, offset) => {
      await turn('write')
      // The system may stop a writer in the middle of a batch.
      return file.write(bytes.subarray(0, Math.ceil(bytes.length / 2)), offset)
    },
    sync: call('sync', () => file.sync()),
    stat: () => file.stat(),
    chmod: (mode) => file.chmod(mode),
    close: () => file.close(),
  })
  return {
    open: async (path, how) => {
      await turn(how)
      return wrap(await port.open(path, how))
    },
    stat: call('stat', (path) => port.stat(path)),
    realpath: (path) => port.realpath(path),
    readdir: call('readdir', (path) => port.readdir(path)),
    mkdir: call('mkdir', (path) => port.mkdir(path)),
    rmdir: call('rmdir', (path) => port.rmdir(path)),
    rename: call('rename', (from, to) => port.rename(from, to)),
    link: (from, to) => port.link(from, to),
    unlink: (path) => port.unlink(path),
    chmod: (path, mode) => port.chmod(path, mode),
    syncFolder: (path) => port.syncFolder(path),
    now: () => port.now(),
    random: (sizeBytes) => port.random(sizeBytes),
    pause: () => turn('pause'),
    identity: () => port.identity(),
    hasModes: false,
  }
}

it('in any order of their calls, what any writer acknowledged is in the log once, and nobody else wrote', async () => {
  const prepared = new MemoryPort()
  const before = new JournalStorage({ root, port: prepared })
  await append(await before.create(headerOf('a'), { claim: newClaim() }), [encodeEvent(event(0, 'first'))])

  await fc.assert(
    fc.asyncProperty(fc.scheduler(), async (scheduler) => {
      const disk = prepared.copy()
      const acknowledged = new Map<number, string>()
      const appendOne = async (lease: Lease, who: string): Promise<void> => {
        const seq = lease.tail.seq + 1
        await append(lease, [encodeEvent(event(seq, who))])
        expect(acknowledged.has(seq)).toBe(false)
        acknowledged.set(seq, who)
      }
      const actor = async (who: string): Promise<void> => {
        const turn = (name: string): Promise<void> => scheduler.schedule(Promise.resolve(), `${who} ${name}`)
        const storage = new JournalStorage({ root, port: paced(disk, turn) })
        for (const attempt of upTo(2)) {
          try {
            const lease = await storage.acquire('a', { claim: newClaim() })
            await appendOne(lease, `${who}${attempt}`)
            await appendOne(lease, `${who}${attempt}`)
          } catch (error) {
            if (!isSessionError(error)) throw error
            // A writer that is halted in the middle of a batch leaves it torn for those who look meanwhile.
            const isTorn =
              error.code === 'CORRUPT' && String(error.details.reason).startsWith('goes on after')
            if (!isTorn) expect(['FENCED', 'LOCKED']).toContain(error.code)
          }
        }
      }
      const actors = Promise.all([actor('x'), actor('y'), actor('z')])
      await scheduler.waitFor(actors)

      const { events } = await readBack(new JournalStorage({ root, port: disk }), 'a')
      expect(seqsOf(events)).toEqual(upTo(events.length))
      for (const [seq, who] of acknowledged) expect(events[seq]?.data).toBe(who)
    }),
    { numRuns: 200 },
  )
})
