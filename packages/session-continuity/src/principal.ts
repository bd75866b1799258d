import { z } from 'zod'

/** Who asks, as an authenticator says after it has checked a credential. */
export interface Principal {
  /** `<mechanism>:<subject>`, so that two mechanisms never vouch for the same principal by chance. */
  readonly id: string
  readonly kind: 'human' | 'agent' | 'service'
  /** How sure the mechanism is: higher is surer. */
  readonly assurance: number
  /** Milliseconds since the epoch. */
  readonly authenticatedAt: number
  /** Whom this one acts for: grants intersect, labels take the maximum. */
  readonly onBehalfOf?: Principal
}

/** UTF-16 code units: a mechanism, an issuer of 200, and a subject of 255, as OpenID Connect has it, fit. */
const principalIdLengthMax = 600

/** One who acts for another, who acts for another: so many of them. */
export const actingMax = 4

const fields = {
  id: z
    .string()
    .min(1)
    .max(principalIdLengthMax)
    .refine((id) => id.isWellFormed()),
  kind: z.enum(['human', 'agent', 'service']),
  assurance: z.int().min(0).max(1_000),
  authenticatedAt: z.int().min(0).max(8.64e15),
}

/** What an authenticator returned, checked and frozen; `undefined` where it is no principal. */
export function findPrincipal(value: unknown, depth = 1): Principal | undefined {
  if (typeof value !== 'object' || value === null || depth > actingMax) return undefined
  const { onBehalfOf, ...own } = value as Record<string, unknown>
  const parsed = z.strictObject(fields).safeParse(own)
  if (!parsed.success) return undefined
  if (onBehalfOf === undefined) return Object.freeze(parsed.data)
  const other = findPrincipal(onBehalfOf, depth + 1)
  return other && Object.freeze({ ...parsed.data, onBehalfOf: other })
}

/** The principal, whom it acts for, whom that one acts for. */
export function actingChain(principal: Principal): readonly Principal[] {
  const { onBehalfOf } = principal
  return onBehalfOf ? [principal, ...actingChain(onBehalfOf)] : [principal]
}

/** Whether both are the same, and act for the same. What a credential looks like has no part in it. */
export function isSamePrincipal(a: Principal, b: Principal): boolean {
  const ids = (principal: Principal): string => JSON.stringify(actingChain(principal).map(({ id }) => id))
  return ids(a) === ids(b)
}
