import { z } from 'zod'
import type { Authenticator } from './authenticator.ts'
import { isSameDigest, sha256 } from './digest.ts'
import { findPrincipal, type Principal } from './principal.ts'

/** One token of the configuration, by its SHA-256: the token itself need not be there. */
const tokenSchema = z.strictObject({
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** When it was issued, in `authenticatedAt`: after a reset only a token that was issued later lets in. */
  principal: z.custom<Principal>((value) => findPrincipal(value) !== undefined, 'no principal'),
})

const tokensSchema = z.array(tokenSchema).min(1).max(1_000)

export type StaticToken = Readonly<z.output<typeof tokenSchema>>

/** The mechanism `token`: tokens that the host hands out itself. */
export function staticTokens(tokens: readonly StaticToken[]): Authenticator {
  const known = tokensSchema.parse(tokens)
  return Object.freeze({
    mechanism: 'token',
    authenticate: async (token: string | undefined): Promise<Principal | undefined> => {
      if (token === undefined) return undefined
      const digest = sha256(token)
      // Every one is compared, each in the same time, so that how long it takes tells nothing.
      const fitting = known.filter((each) => isSameDigest(each.sha256, digest))
      return fitting[0]?.principal
    },
  })
}

/** What goes into the configuration in place of a token. */
export function tokenDigest(token: string): string {
  return sha256(token)
}
