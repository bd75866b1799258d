import { isSessionError, type SessionEvent } from '@tidemark/session-core'
import {
  encodeEvent,
  type AppendTerms,
  type EncodedEvent,
  type Lease,
  type Receipt,
  type Tail,
} from '@tidemark/session-persistence'
import { SessionError } from '@tidemark/session-core'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { WriteBehind } from '../../packages/session-persistence/src/write-behind.ts'
import { event, headerOf, upTo } from './batches.ts'
import { codeOf, refusalOf } from './refusal.ts'

/** A lease whose storage does what the test says. */
class FakeLease implements Lease {
  readonly header = headerOf('a')
  readonly epoch = 1
  readonly batches: number[][] = []
  tail: Tail = { seq: -1, digest: 'd' }
  released = 0
  failWith: Error | undefined
  held: Promise<void> = Promise.resolve()

  async append(batch: readonly EncodedEvent[], { expectedTail }: AppendTerms): Promise<Receipt> {
    expect(expectedTail).toEqual(this.tail)
    this.batches.push(batch.map((each) => each.event.seq))
    await this.held
    if (this.failWith !== undefined) throw this.failWith
    this.tail = { seq: batch.at(-1)!.event.seq, digest: 'd' }
    return { tail: this.tail, durable: this.tail.seq }
  }

  async release(): Promise<void> {
    this.released += 1
  }
}

const limits = {
  isShared: false,
  isDurable: true,
  hasSnapshots: false,
  eventSizeBytesMax: 1_000,
  batchSizeBytesMax: 1_000,
}

let lease: FakeLease
let durable: number[]
let failed: string[]
let written: (number | undefined)[]
let closed: number
beforeEach(() => {
  lease = new FakeLease()
  durable = []
  failed = []
  written = []
  closed = 0
})

interface Opening {
  readonly flushDelayMs?: number
  readonly pendingSizeBytesMax?: number
  readonly permit?: () => Promise<void>
}

const open = (options: Opening = {}): WriteBehind => {
  const mine = { durable, failed, written }
  return new WriteBehind(lease, {
    capabilities: limits,
    flushDelayMs: 20,
    pendingSizeBytesMax: 100_000,
    onDurable: (seq) => mine.durable.push(seq),
    onWritten: async () => void mine.written.push(mine.durable.at(-1)),
    onFailed: ({ code }) => mine.failed.push(code),
    onClosed: () => (closed += 1),
    ...options,
  })
}

const made = (seq: number, data: unknown = {}, type = 'test/event'): SessionEvent =>
  event(seq, data, { type }) as SessionEvent
const boundary = (seq: number): SessionEvent => made(seq, {}, 'session/resumed')
const recovered = (seq: number): SessionEvent => made(seq, {}, 'session/recovered')
const sized = (seq: number, sizeBytes: number): SessionEvent =>
  made(seq, 'x'.repeat(sizeBytes - encodeEvent(made(seq, '')).sizeBytes))
const pause = (durationMs = 60): Promise<void> => new Promise((resolve) => setTimeout(resolve, durationMs))

describe('the writer of a session', () => {
  it('many events are one batch, after the delay', async () => {
    const writer = open()
    for (const seq of upTo(10)) writer.admit(made(seq))
    expect(lease.batches).toEqual([])
    await pause()
    expect(lease.batches).toEqual([upTo(10)])
    expect(writer.durableSeq).toBe(9)
    expect(durable).toEqual([9])
  })

  it('G11: a flush writes at once, and resolves when everything before it is durable', async () => {
    const writer = open({ flushDelayMs: 1_000 })
    writer.admit(made(0))
    await writer.flush()
    expect(writer.durableSeq).toBe(0)
    await writer.flush()
    expect(lease.batches).toEqual([[0]])
  })

  it('one batch is in flight; what comes meanwhile is the next one', async () => {
    const writer = open()
    let go = (): void => undefined
    lease.held = new Promise((resolve) => (go = resolve))
    writer.admit(made(0))
    const first = writer.flush()
    writer.admit(made(1))
    const second = writer.flush()
    writer.admit(made(2))
    await pause()
    expect(lease.batches).toEqual([[0]])
    expect(writer.durableSeq).toBe(-1)
    go()
    await Promise.all([first, second])
    await writer.flush()
    expect(lease.batches).toEqual([[0], [1, 2]])
    expect(durable).toEqual([0, 2])
  })

  it('G32: what is appended while leave to write is asked for goes with what it is for', async () => {
    const permit = async (): Promise<void> => {
      await pause(1)
      if (writer.durableSeq === -1) writer.admit(made(1))
    }
    const writer = open({ flushDelayMs: 1_000, permit })
    writer.admit(made(0))
    await writer.flush()
    expect(lease.batches).toEqual([[0, 1]])
  })

  it('G32: a flush waits for it, too, where it goes with a later batch, and for nothing that came after', async () => {
    let next = 2
    const permit = async (): Promise<void> => {
      await pause(1)
      if (next < 10) for (let part = 0; part < 2; part++) writer.admit(sized(next++, 400))
    }
    const writer = open({ flushDelayMs: 1_000, permit })
    writer.admit(sized(0, 400))
    const flushed = writer.flush()
    writer.admit(sized(1, 400))
    await flushed
    expect(lease.batches).toEqual([
      [0, 1],
      [2, 3],
    ])
  })

  it('there is always room for what accompanies the rest', async () => {
    const writer = open({ pendingSizeBytesMax: 500 })
    writer.admit(sized(0, 400))
    expect(await codeOf(() => writer.admit(sized(1, 400)))).toBe('BACK_PRESSURE')
    writer.admit(sized(1, 400), true)
    await writer.flush()
    expect(lease.batches).toEqual([[0, 1]])
  })

  it('a batch is not larger than the storage takes', async () => {
    const writer = open()
    for (const seq of upTo(5)) writer.admit(sized(seq, 400))
    await writer.flush()
    expect(lease.batches).toEqual([[0, 1], [2, 3], [4]])
  })

  it('G13: an event at the limit is admitted, one byte more is refused and uses no seq', () => {
    const writer = open()
    writer.admit(sized(0, 1_000))
    expect(() => writer.admit(sized(1, 1_001))).toThrow(expect.objectContaining({ code: 'INVALID_PAYLOAD' }))
    writer.admit(made(1))
  })

  it('G13: pending bytes are bounded, those in flight included, and a flush makes room', async () => {
    const writer = open({ pendingSizeBytesMax: 1_000 })
    writer.admit(sized(0, 600))
    writer.admit(sized(1, 400))
    expect(() => writer.admit(made(2))).toThrow(expect.objectContaining({ code: 'BACK_PRESSURE' }))
    const flushed = writer.flush()
    expect(() => writer.admit(made(2))).toThrow(expect.objectContaining({ code: 'BACK_PRESSURE' }))
    await flushed
    writer.admit(made(2))
    await writer.flush()
    expect(lease.batches.flat()).toEqual(upTo(3))
  })

  it('G13: pieces of a stream are counted to the byte, whatever they may take at most', async () => {
    const piece = (seq: number, text: string): SessionEvent =>
      made(seq, { kind: 'text', text }, 'assistant/chunk')
    const sizeBytes = encodeEvent(piece(0, '')).sizeBytes
    const filled = (seq: number, ofBytes: number): SessionEvent => piece(seq, 'x'.repeat(ofBytes - sizeBytes))
    const writer = open({ pendingSizeBytesMax: 1_500 })
    for (const seq of upTo(5)) writer.admit(filled(seq, 250))
    const large = await refusalOf(() => writer.admit(filled(5, 251)))
    expect([large.code, large.details.pendingSizeBytesMax]).toEqual(['BACK_PRESSURE', 1_500])
    writer.admit(filled(5, 250))
    const flushed = writer.flush()
    expect(await codeOf(() => writer.admit(piece(6, '')))).toBe('BACK_PRESSURE')
    await flushed
    expect(lease.batches).toEqual([upTo(4), [4, 5]])
    expect(() => writer.admit(filled(6, 1_001))).toThrow(expect.objectContaining({ code: 'INVALID_PAYLOAD' }))
    writer.admit(filled(6, 1_000))
    writer.admit(filled(7, 500))
    expect(await codeOf(() => writer.admit(piece(8, '')))).toBe('BACK_PRESSURE')
    await writer.flush()
    expect(lease.batches).toEqual([upTo(4), [4, 5], [6], [7]])
  })

  it('an event that is larger than the bound is admitted when nothing else waits', async () => {
    const writer = open({ pendingSizeBytesMax: 1 })
    writer.admit(boundary(0))
    writer.admit(sized(1, 500))
    await writer.flush()
    expect(lease.batches).toEqual([[0, 1]])
  })

  it('a boundary that waits alone is written by no timer, no flush and no close', async () => {
    const writer = open({ flushDelayMs: 1 })
    writer.admit(boundary(0))
    await pause()
    await writer.flush()
    await writer.close()
    expect(lease.batches).toEqual([])
    expect(writer.durableSeq).toBe(-1)
    expect(lease.released).toBe(1)
  })

  it.each([
    ['one recovery', 1],
    ['several recoveries', 5],
  ])('%s and the boundary after it are written by no timer, no flush and no close', async (_, count) => {
    const writer = open({ flushDelayMs: 1 })
    for (const seq of upTo(count)) {
      writer.admit(recovered(seq))
      await pause(10)
    }
    writer.admit(boundary(count))
    await pause()
    await writer.flush()
    expect(writer.durableSeq).toBe(-1)
    await writer.close()
    expect(lease.batches).toEqual([])
    expect(writer.durableSeq).toBe(-1)
    expect([lease.released, durable]).toEqual([1, []])
  })

  it('what waits alone rides the first batch that is written', async () => {
    const writer = open()
    for (const seq of upTo(2)) writer.admit(recovered(seq))
    writer.admit(boundary(2))
    await writer.flush()
    writer.admit(made(3))
    await pause()
    expect(lease.batches).toEqual([upTo(4)])
    expect(writer.durableSeq).toBe(3)
  })

  it('what waits alone is written when all of it is asked for', async () => {
    const writer = open()
    writer.admit(recovered(0))
    writer.admit(boundary(1))
    await writer.writeAll()
    expect(lease.batches).toEqual([[0, 1]])
    await writer.writeAll()
    expect(lease.batches).toHaveLength(1)
  })

  it('a boundary or a recovery that follows anything else does not wait', async () => {
    const writer = open()
    writer.admit(boundary(0))
    writer.admit(recovered(1))
    await writer.flush()
    writer.admit(made(2))
    writer.admit(boundary(3))
    await writer.flush()
    expect(lease.batches).toEqual([
      [0, 1],
      [2, 3],
    ])
  })

  it('names the content that is durable, and nothing beyond it', async () => {
    lease.tail = { seq: -1, digest: 'empty' }
    const writer = open()
    expect([writer.durableSeq, writer.digest]).toEqual([-1, 'empty'])
    let go = (): void => undefined
    lease.held = new Promise((resolve) => (go = resolve))
    writer.admit(made(0))
    const flushed = writer.flush()
    expect([writer.durableSeq, writer.digest]).toEqual([-1, 'empty'])
    go()
    await flushed
    expect([writer.durableSeq, writer.digest]).toEqual([0, 'd'])
    lease.failWith = new SessionError('STORAGE_FAILED', 'x')
    writer.admit(made(1))
    await refusalOf(() => writer.flush())
    await writer.close()
    expect([writer.durableSeq, writer.digest]).toEqual([0, 'd'])
  })

  it('a storage that gives no digest is not asked for one', async () => {
    lease.tail = { seq: -1 } as Tail
    const writer = open()
    expect(writer.digest).toBe(undefined)
  })

  it('a seq that does not follow is refused', () => {
    const writer = open()
    expect(() => writer.admit(made(1))).toThrow(expect.objectContaining({ code: 'TAIL_MOVED' }))
    writer.admit(made(0))
    expect(() => writer.admit(made(0))).toThrow(expect.objectContaining({ code: 'TAIL_MOVED' }))
  })

  it('a process that ends by itself ends after what waits is written', async () => {
    const setTimer = vi.spyOn(globalThis, 'setTimeout')
    const writer = open()
    writer.admit(boundary(0))
    expect(setTimer).not.toHaveBeenCalled()
    writer.admit(made(1))
    const timer = setTimer.mock.results.at(-1)?.value as NodeJS.Timeout
    setTimer.mockRestore()
    expect(timer.hasRef()).toBe(true)
    await writer.flush()
  })
})

describe('a writer that failed', () => {
  const failures: readonly [code: string, error: Error, refusal: string][] = [
    ['STORAGE_FAILED', new SessionError('STORAGE_FAILED', 'x'), 'STORAGE_FAILED'],
    ['OUTCOME_UNKNOWN', new SessionError('OUTCOME_UNKNOWN', 'x'), 'STORAGE_FAILED'],
    ['FENCED', new SessionError('FENCED', 'x'), 'FENCED'],
    ['STORAGE_FAILED', new TypeError('of a third party'), 'STORAGE_FAILED'],
  ]

  it.each(failures)(
    'K01, G12: %s: every flush rejects with it, every append throws, nothing is written again',
    async (code, error, refusal) => {
      const writer = open()
      writer.admit(made(0))
      await writer.flush()
      lease.failWith = error
      writer.admit(made(1))
      const flushes = [writer.flush(), writer.flush()].map((flush) => refusalOf(() => flush))
      writer.admit(made(2))
      for (const flush of flushes) expect((await flush).code).toBe(code)
      lease.failWith = undefined
      expect(await codeOf(() => writer.flush())).toBe(code)
      expect(await codeOf(() => writer.admit(made(3)))).toBe(refusal)
      await pause()
      expect(lease.batches).toHaveLength(2)
      expect(writer.durableSeq).toBe(0)
      expect(durable).toEqual([0])
      expect(failed).toEqual([code])
      await writer.close()
      expect(lease.released).toBe(1)
    },
  )

  it('a failure that no flush waits for is met by the next append', async () => {
    const writer = open({ flushDelayMs: 1 })
    lease.failWith = new SessionError('STORAGE_FAILED', 'x')
    writer.admit(made(0))
    await pause()
    const refusal = await refusalOf(() => writer.admit(made(1)))
    expect(isSessionError(refusal.cause)).toBe(true)
  })
})

describe('closing a writer', () => {
  it('writes what waits, releases the lease once, and is over', async () => {
    const writer = open({ flushDelayMs: 1_000 })
    writer.admit(made(0))
    await Promise.all([writer.close(), writer.close()])
    await writer.close()
    expect(lease.batches).toEqual([[0]])
    expect([lease.released, closed]).toEqual([1, 1])
    expect(written).toEqual([0])
    expect(await codeOf(() => writer.admit(made(1)))).toBe('DISPOSED')
    expect(await codeOf(() => writer.flush())).toBe('DISPOSED')
    expect(writer.durableSeq).toBe(0)
  })

  it('takes nothing in while it writes the rest', async () => {
    const writer = open()
    writer.admit(made(0))
    const closing = writer.close()
    expect(await codeOf(() => writer.admit(made(1)))).toBe('DISPOSED')
    await closing
    expect(lease.batches).toEqual([[0]])
  })

  it('releases the lease also when the rest cannot be written, and says so', async () => {
    const writer = open()
    lease.failWith = new SessionError('STORAGE_FAILED', 'x')
    writer.admit(made(0))
    expect(await codeOf(() => writer.close())).toBe('STORAGE_FAILED')
    expect(lease.released).toBe(1)
    expect(await codeOf(() => writer.flush())).toBe('DISPOSED')
  })
})
