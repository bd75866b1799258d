import { recoveredType } from './boundary.ts'
import { coreSchemas } from './core.ts'
import { SessionError } from './errors.ts'
import type { SessionRecovered } from './event.ts'
import { assertLossless } from './json.ts'
import { refusal } from './schema.ts'

/**
 * Whether what recoveries found can stand after a seed of so many events; without a seed there is nothing that could
 * have been recovered.
 *
 * @throws SessionError `INVALID_SEED`, `INVALID_PAYLOAD`, `INVALID_EVENT`; the latter with the seq it was to have.
 */
export function refuseRecovered(records: readonly SessionRecovered[], seedLength: number | undefined): void {
  if (records.length === 0) return
  if (seedLength === undefined)
    throw new SessionError('INVALID_SEED', 'what was recovered belongs to a seed; nothing was created')
  for (const [index, record] of records.entries()) refuseMisfit(record, seedLength + index)
}

function refuseMisfit(record: SessionRecovered, seq: number): void {
  const type = recoveredType
  assertLossless(record, { type, seq })
  const issue = refusal(coreSchemas[type], record)
  if (issue === undefined) return
  const { path, reason } = issue
  throw new SessionError('INVALID_EVENT', `${type}: ${path} ${reason}; nothing was created`, {
    type,
    seq,
    path,
  })
}
