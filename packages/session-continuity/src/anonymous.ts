import type { AuthenticateTerms, Authenticator } from './authenticator.ts'

/**
 * The mechanism `anonymous`: whoever shows nothing is let in as the one principal `anonymous:anyone`, at assurance 0.
 * It has to be configured, and has to be granted something besides. Without a clock of its own it goes by that of the
 * configuration.
 */
export function anonymous(clock?: () => number): Authenticator {
  return Object.freeze({
    mechanism: 'anonymous',
    authenticate: async (_token: string | undefined, terms?: AuthenticateTerms) => ({
      id: 'anyone',
      kind: 'service' as const,
      assurance: 0,
      authenticatedAt: Math.max(0, Math.trunc(clock ? clock() : (terms?.now ?? Date.now()))),
    }),
  })
}
