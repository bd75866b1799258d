import { SessionError, isSessionError } from '@tidemark/session-core'
import type { JournalPort } from '../../journal/port.ts'
import type { Lease, SessionStorage, StoredBatch, StoredLog } from '../../storage.ts'
import type { PlantedFault } from './planted-fault.ts'
import { withOwn } from './with-own.ts'
import { isCorrupt } from '../../refused-read.ts'

type Lie = (storage: SessionStorage, port: JournalPort) => Partial<SessionStorage>

function atStorage(lie: Lie): PlantedFault['plant'] {
  return (subject) => ({
    open: (port) => {
      const storage = subject.open(port)
      return withOwn(storage, lie(storage, port))
    },
  })
}

function atRead(lie: (batches: StoredLog['batches']) => StoredLog['batches']): PlantedFault['plant'] {
  return atStorage((storage) => ({
    read: async (id, terms) => {
      const log = await storage.read(id, terms)
      return withOwn(log, { batches: lie(log.batches) })
    },
  }))
}

/** Every lease that the storage gives, with a lie of its own. */
function atLease(lie: (lease: Lease) => Partial<Lease>): PlantedFault['plant'] {
  return atStorage((storage) => ({
    create: async (header, terms) => lying(await storage.create(header, terms), lie),
    acquire: async (id, terms) => lying(await storage.acquire(id, terms), lie),
    fork: async (source, header, claim) => lying(await storage.fork(source, header, claim), lie),
  }))
}

function lying(lease: Lease, lie: (lease: Lease) => Partial<Lease>): Lease {
  return withOwn(lease, lie(lease))
}

/** Faults of a storage, whatever it keeps its sessions in. */
export const storageFaults: readonly PlantedFault[] = [
  { name: 'a read leaves the last batch out', campaign: 'crash', plant: atRead(withoutLast) },
  { name: 'a read gives events in another order', campaign: 'crash', plant: atRead(reordered) },
  { name: 'a read gives an event that nobody wrote', campaign: 'crash', plant: atRead(withOneMore) },
  { name: 'a read says of everything that it is durable', campaign: 'crash', plant: atRead(allDurable) },
  { name: 'a read changes the disk', campaign: 'crash', plant: atStorage(marking) },
  {
    name: 'damage is read as the end of the log, or as no session',
    campaign: 'damage',
    plant: atStorage(atDamage(notFound, () => undefined)),
  },
  { name: 'damage is told as a bug', campaign: 'damage', plant: atStorage(atDamage(bug, bug)) },
  { name: 'a claim that is refused changes the disk', campaign: 'damage', plant: atStorage(repairing) },
  { name: 'a claim does not fence', campaign: 'crash', plant: atStorage(sharing) },
  { name: 'a removal leaves its leases writing', campaign: 'crash', plant: atStorage(outliving) },
  { name: 'a failed append is acknowledged', campaign: 'fault', plant: atLease(acknowledging) },
  { name: 'a recovery is told at each claim', campaign: 'crash', plant: atLease(recoveringAgain) },
]

async function* withoutLast(batches: StoredLog['batches']): AsyncGenerator<StoredBatch, void> {
  let before: StoredBatch | undefined
  for await (const batch of batches) {
    if (before) yield before
    before = batch
  }
  if (before?.events.length === 0) yield before
}

async function* reordered(batches: StoredLog['batches']): AsyncGenerator<StoredBatch, void> {
  for await (const batch of batches) yield { ...batch, events: [...batch.events].reverse() }
}

async function* withOneMore(batches: StoredLog['batches']): AsyncGenerator<StoredBatch, void> {
  let seq = 0
  let last: StoredBatch | undefined
  for await (const batch of batches) {
    yield batch
    last = batch
    seq = batch.tail.seq + 1
  }
  const event = { seq, time: 0, type: 'test/event', data: null }
  if (last) yield { ...last, events: [event], tail: { ...last.tail, seq } }
}

async function* allDurable(batches: StoredLog['batches']): AsyncGenerator<StoredBatch, void> {
  for await (const batch of batches) yield { ...batch, isDurable: true }
}

/** Whatever is refused as damaged, when a read begins or while it goes on. */
function atDamage(
  atStart: (error: SessionError) => Error,
  atBatch: (error: SessionError) => Error | undefined,
): Lie {
  async function* told(batches: StoredLog['batches']): AsyncGenerator<StoredBatch, void> {
    try {
      yield* batches
    } catch (error) {
      if (!isCorrupt(error)) throw error
      const other = atBatch(error)
      if (other) throw other
    }
  }
  return (storage) => ({
    read: async (id, terms) => {
      try {
        const log = await storage.read(id, terms)
        return withOwn(log, { batches: told(log.batches) })
      } catch (error) {
        throw isCorrupt(error) ? atStart(error) : error
      }
    },
  })
}

function notFound(): SessionError {
  return new SessionError('NOT_FOUND', 'there is no such session')
}

function bug({ message }: SessionError): Error {
  return new TypeError(message)
}

function marking(storage: SessionStorage, port: JournalPort): Partial<SessionStorage> {
  return {
    read: async (id, terms) => {
      await port.mkdir(`/${port.random(4)}`)
      return storage.read(id, terms)
    },
  }
}

function repairing(storage: SessionStorage, port: JournalPort): Partial<SessionStorage> {
  return {
    acquire: async (id, terms) => {
      try {
        return await storage.acquire(id, terms)
      } catch (error) {
        await port.mkdir(`/${port.random(4)}`)
        throw error
      }
    },
  }
}

const shared = new WeakMap<JournalPort, Map<string, Lease>>()

/** Of one session all claims on one port are the same one. */
function sharing(storage: SessionStorage, port: JournalPort): Partial<SessionStorage> {
  const leases = shared.get(port) ?? new Map<string, Lease>()
  shared.set(port, leases)
  return {
    create: async (header, terms) => {
      const lease = await storage.create(header, terms)
      leases.set(header.id, lease)
      return lease
    },
    acquire: async (id, terms) => leases.get(id) ?? storage.acquire(id, terms),
  }
}

function outliving(storage: SessionStorage): Partial<SessionStorage> {
  const removed = new Set<string>()
  const deaf = (lease: Lease): Lease =>
    withOwn(lease, {
      append: async (batch, terms) => {
        if (!removed.has(lease.header.id)) return lease.append(batch, terms)
        const seq = batch.at(-1)?.event.seq ?? -1
        return { tail: { seq, digest: lease.tail.digest }, durable: seq }
      },
    })
  return {
    create: async (header, terms) => deaf(await storage.create(header, terms)),
    remove: async (id) => {
      await storage.remove(id)
      removed.add(id)
    },
  }
}

function acknowledging(lease: Lease): Partial<Lease> {
  return {
    append: async (batch, terms) => {
      try {
        return await lease.append(batch, terms)
      } catch (error) {
        if (!isSessionError(error)) throw error
        const seq = batch.at(-1)?.event.seq ?? -1
        return { tail: { seq, digest: lease.tail.digest }, durable: seq }
      }
    },
  }
}

let recoveriesCount = 0

function recoveringAgain({ tail, recovered = [] }: Lease): Partial<Lease> {
  recoveriesCount += 1
  const { seq: lastSeq, digest } = tail
  const where = { segment: `recovery-${recoveriesCount}`, offset: 0, sizeBytes: 0, digest }
  const record = { reason: 'torn', ...where, lastSeq, durableSeq: lastSeq, evidence: 'none' }
  return { recovered: [...recovered, record] }
}
