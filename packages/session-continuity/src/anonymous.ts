import type { Authenticator } from './authenticator.ts'

/**
 * The mechanism `anonymous`: whoever shows nothing is let in as the one principal `anonymous:anyone`, at assurance 0.
 * It has to be configured, and has to be granted something besides.
 */
export function anonymous(now: () => number = Date.now): Authenticator {
  return Object.freeze({
    mechanism: 'anonymous',
    authenticate: async () => ({
      id: 'anyone',
      kind: 'service' as const,
      assurance: 0,
      authenticatedAt: Math.max(0, Math.trunc(now())),
    }),
  })
}
