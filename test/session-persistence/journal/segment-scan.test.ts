import type { AnySessionEvent } from '@tidemark/session-core'
import { chainDigest, encodeEvent, linesOf } from '@tidemark/session-persistence'
import { describe, expect, it } from 'vitest'
import { sealCommit } from '../../../packages/session-persistence/src/journal/commit.ts'
import type { SegmentHeader } from '../../../packages/session-persistence/src/journal/header.ts'
import { packedLinesOf } from '../../../packages/session-persistence/src/journal/runs.ts'
import {
  SegmentScan,
  type Damage,
  type ScannedBatch,
} from '../../../packages/session-persistence/src/journal/segment-scan.ts'
import { event } from '../batches.ts'

const header = { epoch: 1, salt: 'salt' } as SegmentHeader
const digest = '0'.repeat(64)
const offset = 1_000

const chunk = (seq: number, text: string): AnySessionEvent =>
  event(seq, { kind: 'text', text }, { type: 'assistant/chunk', ignorable: true })
const events = [event(5, 'x'), chunk(6, 'a'), chunk(7, '🌊'), chunk(8, 'c'), event(9, ['\u2028'])]
const encoded = events.map(encodeEvent)

/** Lines, and a commit that proves them. */
function committed(lines: Uint8Array | string, to = 9): Buffer {
  const bytes = Buffer.from(lines as string)
  const commit = { from: 5, to, epoch: 1, batchId: 'b', durable: 4, digest: chainDigest(digest, [bytes]) }
  return Buffer.concat([bytes, sealCommit(commit, header.salt)])
}

const scanOf = (): SegmentScan => new SegmentScan(header, { offset, lines: 1, tail: { seq: 4, digest } })

function scanned(bytes: Buffer, pieceSizeBytes = bytes.length): (ScannedBatch | Damage)[] {
  const scan = scanOf()
  const found: (ScannedBatch | Damage)[] = []
  for (let from = 0; from < bytes.length; from += pieceSizeBytes)
    found.push(...scan.push(bytes.subarray(from, from + pieceSizeBytes)))
  return found
}

describe('the batches of a segment', () => {
  it.each([
    ['with runs', packedLinesOf(encoded), 3],
    ['written before there were runs', linesOf(encoded), 5],
  ])('%s are given out as events, however the bytes are cut', (_, lines, lineCount) => {
    const bytes = committed(lines)
    const two = Buffer.concat([bytes, bytes])
    for (let pieceSizeBytes = 1; pieceSizeBytes <= bytes.length; pieceSizeBytes++) {
      const [batch, ...others] = scanned(two, pieceSizeBytes)
      expect(batch).toMatchObject({ kind: 'batch', events })
      expect(batch).toMatchObject({ end: { offset: offset + bytes.length, lines: 2 + lineCount } })
      expect(others[0]).toMatchObject({
        kind: 'damage',
        offset: offset + bytes.length,
        line: 3 + lineCount,
        reason: 'is not the event of seq 10',
      })
    }
  })

  it('with a run that is not sound are damaged, though their commit proves them', () => {
    const text = Buffer.from(packedLinesOf(encoded)).toString()
    for (const [from, to, reason] of [
      ['"dt":[1,1]', '"dt":[1]', 'is no event'],
      ['"dt":[1,1]', '"dt":[1,1,1]', 'is no event'],
      ['"dt":[1,1]', '"dt":[1,0.5]', 'is no event'],
      ['"a",', '', 'is no event'],
      ['"a"', 'null', 'is no event'],
      ['"a"', '"\0"', 'holds NUL bytes'],
      ['assistant/chunk', 'assistant/other', 'is no event'],
      ['"seq":6', '"seq":7', 'is not the event of seq 6'],
      ['{"seq":6', '{ "seq":6', 'is not the event of seq 6'],
    ] as const) {
      const damaged = text.replace(from, to)
      expect(damaged).not.toBe(text)
      expect(scanned(committed(damaged))).toEqual([
        { kind: 'damage', reason, offset: offset + text.indexOf('{"seq":6'), line: 3 },
      ])
    }
  })

  it('whose commit counts lines and not events are damaged', () => {
    const lines = packedLinesOf(encoded)
    for (const to of [7, 8, 10])
      expect(scanned(committed(lines, to))).toMatchObject([{ kind: 'damage', line: 5 }])
    expect(scanned(committed(lines, 9))).toMatchObject([{ kind: 'batch' }])
  })

  it('whose digest is another’s are damaged from their first line on', () => {
    const bytes = committed(packedLinesOf(encoded))
    const at = bytes.indexOf('"a"') + 1
    bytes[at] = 0x62
    for (const pieceSizeBytes of [1, 50, bytes.length]) {
      const reason = 'starts a batch that is not what was committed'
      expect(scanned(bytes, pieceSizeBytes)).toMatchObject([{ kind: 'damage', reason, offset, line: 2 }])
    }
  })
})
