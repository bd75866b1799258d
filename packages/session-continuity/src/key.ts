import { keyedSha256 } from './digest.ts'

/**
 * The name of a policy state: of one principal, in one scope, in one store. A list in JSON is injective: no
 * two pairs of texts are written the same.
 */
export function continuityKey(storeId: string, principalId: string, scope: string): string {
  return keyedSha256(storeId, JSON.stringify(['tidemark continuity 1', principalId, scope]))
}
