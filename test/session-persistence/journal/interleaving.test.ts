import fc from 'fast-check'
import { isSessionError } from '@tidemark/session-core'
import { encodeEvent, type Lease } from '@tidemark/session-persistence'
import { JournalStorage } from '@tidemark/session-persistence/journal'
import { expect, it } from 'vitest'
import { append, event, headerOf, newClaim, readBack, seqsOf, upTo } from '../batches.ts'
import { MemoryPort } from './memory-port.ts'
import { paced } from './paced-port.ts'

const root = '/journal'

it('G14: in any order of their calls, what any writer acknowledged is in the log once, and nobody else wrote', async () => {
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
}, 120_000)
