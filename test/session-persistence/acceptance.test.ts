import { RecentBatches } from '@tidemark/session-persistence'
import { expect, it } from 'vitest'
import { recentBatchesMax } from '../../packages/session-persistence/src/acceptance.ts'
import { upTo } from './batches.ts'

it('a lease recognises as many batches as it says, and forgets the oldest', () => {
  const recent = new RecentBatches()
  const span = (seq: number) => ({ before: { seq: seq - 1, digest: '' }, after: { seq, digest: '' } })
  for (const seq of upTo(recentBatchesMax)) recent.add(`batch ${seq}`, span(seq))
  expect(recent.find('batch 0')).toEqual(span(0))
  recent.add('one more', span(recentBatchesMax))
  expect(recent.find('batch 0')).toBe(undefined)
  expect(recent.find('batch 1')).toEqual(span(1))
  expect(recent.find('one more')).toEqual(span(recentBatchesMax))
})
