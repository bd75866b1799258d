import { assertLossless, type JsonObject } from '@tidemark/session-core'

/**
 * A copy of the host's own part of a header, so that it stays what is stored.
 * @throws SessionError `INVALID_PAYLOAD`.
 */
export function keptMeta(meta: JsonObject | undefined): JsonObject | undefined {
  if (meta === undefined) return undefined
  assertLossless(meta, { type: 'meta' })
  return JSON.parse(JSON.stringify(meta)) as JsonObject
}
