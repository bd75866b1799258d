import type { SessionHeader } from '@tidemark/session-core'
import type { Lease } from '../../storage.ts'
import { append, appendNext, events, headerOf, newClaim, readBack, seqsOf, upTo } from './batches.ts'
import type { Fact, Facts, Scene } from './fact.ts'
import { allRefused } from './refusal.ts'

interface Family extends Scene {
  readonly parent: Lease
  readonly fork: (through: number, id?: string) => Promise<Lease>
}

const childOf = (id: string, seq: number): SessionHeader =>
  headerOf(id, { parent: { id: 'p', seq }, forkedAt: [seq] })

/** On a session of seven events, with a lifecycle without events between them. */
function parented(fact: (scene: Family) => Promise<void>): Fact {
  return async (scene) => {
    const { storage } = scene
    const first = await storage.create(headerOf('p'), { claim: newClaim() })
    await append(first, events(0, 3))
    await first.release()
    await (await storage.acquire('p', { claim: newClaim() })).release()
    const parent = await storage.acquire('p', { claim: newClaim() })
    await append(parent, events(4, 6))
    const fork = (through: number, id = `c${through}`): Promise<Lease> =>
      storage.fork({ id: 'p', through }, childOf(id, through), newClaim())
    await fact({ ...scene, parent, fork })
  }
}

function noCut(through: number): Facts {
  const title = `a cut at ${through} is refused, and there is no child`
  const fact = parented(async ({ storage, fork, expect }) => {
    await allRefused(expect, 'INVALID_SEQ', { fork: () => fork(through, 'c') })
    await allRefused(expect, 'NOT_FOUND', { 'read of the child, afterwards,': () => storage.read('c') })
  })
  return { [title]: fact }
}

export const forkFacts: Facts = {
  'the child inherits up to the cut, wherever it is, and goes on by itself': parented(
    async ({ storage, parent, fork, expect }) => {
      const before = await readBack(storage, 'p')
      for (const through of [-1, 0, 2, 3, 4, 6]) {
        const child = await fork(through)
        const cut = `of a child cut at ${through}`
        expect(child.tail.seq, `the tail ${cut}`).toBe(through)
        await appendNext(child, 2)
        const found = await readBack(storage, `c${through}`)
        expect(found.header, `the header ${cut}`).toEqual(childOf(`c${through}`, through))
        expect(seqsOf(found.events), `the seqs ${cut}`).toEqual(upTo(through + 3))
        const inherited = found.events.slice(0, through + 1)
        expect(inherited, `what is inherited ${cut}`).toEqual(before.events.slice(0, through + 1))
        expect(found.tail, `the tail that is read ${cut}`).toEqual(child.tail)
      }
      expect(await readBack(storage, 'p'), 'the parent').toEqual(before)
      await appendNext(parent)
    },
  ),

  'G39: a fork of a fork works, and each outlives the other': parented(async ({ storage, fork, expect }) => {
    await appendNext(await fork(5, 'c'))
    await storage.fork({ id: 'c', through: 6 }, headerOf('d'), newClaim())
    await storage.remove('p')
    await storage.remove('c')
    expect(seqsOf((await readBack(storage, 'd')).events), 'the seqs of the grandchild').toEqual(upTo(7))
  }),

  'G39: removing the child does not touch the parent': parented(async ({ storage, fork, expect }) => {
    await fork(5, 'c')
    const before = await readBack(storage, 'p')
    await storage.remove('c')
    expect(await readBack(storage, 'p')).toEqual(before)
  }),

  ...noCut(7),
  ...noCut(100),
  ...noCut(-2),
  ...noCut(1.5),
  ...noCut(Number.NaN),

  'an id that is taken is refused, also the parent’s own': parented(async ({ storage, fork, expect }) => {
    await fork(3, 'c')
    await allRefused(expect, 'EXISTS', {
      'fork, onto a child that is there,': () => fork(5, 'c'),
      'fork, onto the parent,': () => fork(5, 'p'),
    })
    expect(seqsOf((await readBack(storage, 'c')).events), 'the seqs of the child').toEqual(upTo(4))
  }),
}
