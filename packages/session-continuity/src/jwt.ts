import {
  createLocalJWKSet,
  createRemoteJWKSet,
  errors,
  jwtVerify,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
} from 'jose'
import { z } from 'zod'
import type { AuthenticateTerms, Authenticator } from './authenticator.ts'
import { actingMax, type Principal } from './principal.ts'

const algorithms = z.enum([
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
])

const isKeySet = (value: unknown): boolean => Array.isArray((Object(value) as { keys?: unknown }).keys)

const optionsSchema = z
  .strictObject({
    /** `#` divides it from the subject in a principal's id. */
    issuer: z
      .string()
      .min(1)
      .max(200)
      .regex(/^[^#]*$/),
    audience: z.string().min(1),
    /** Signatures of public keys only: a shared secret lets whoever checks a token also make one. */
    algorithms: z.array(algorithms).min(1),
    /** Keys that the host knows. */
    jwks: z.custom<JSONWebKeySet>(isKeySet, 'no key set').optional(),
    /** Where the issuer publishes its keys. */
    jwksUrl: z.url({ protocol: /^https?$/ }).optional(),
    jwksTimeoutMs: z.int().min(1).max(60_000).default(5_000),
    clockToleranceSeconds: z.int().min(0).max(600).default(5),
    /** `iat`: a newer token supersedes older ones. `auth_time`: a newer sign-in does. */
    authenticatedAtClaim: z.enum(['iat', 'auth_time']).default('iat'),
    kind: z.enum(['human', 'agent', 'service']).default('human'),
    /** The assurance of a token without an `acr` that is listed here. */
    assurance: z.int().min(0).max(1_000).default(1),
    assuranceByAcr: z.record(z.string(), z.int().min(0).max(1_000)).default({}),
  })
  .refine(({ jwks, jwksUrl }) => (jwks === undefined) !== (jwksUrl === undefined), 'one of jwks and jwksUrl')

export type JwtOptions = Readonly<z.input<typeof optionsSchema>>
type Settings = z.output<typeof optionsSchema>

/**
 * The mechanism `jwt`: signed tokens of one issuer, for one audience. The principal is `<issuer>#<sub>`, so that the
 * same `sub` of another issuer is somebody else; with an `act` claim (RFC 8693) it is the actor, who acts on behalf of
 * the `sub`. An issuer vouches for its own actors, and for nobody that it says is another one's.
 */
export function jwt(options: JwtOptions): Authenticator {
  const settings = optionsSchema.parse(options)
  const keys = keysOf(settings)
  return Object.freeze({
    mechanism: 'jwt',
    authenticate: async (token: string | undefined, terms?: AuthenticateTerms) => {
      const now = terms ? terms.now : Date.now()
      // A clock that tells no number tells of no token that it is in its time.
      if (token === undefined || !isDate(now)) return undefined
      try {
        const { payload } = await jwtVerify(token, keys, {
          issuer: settings.issuer,
          audience: settings.audience,
          algorithms: settings.algorithms,
          clockTolerance: settings.clockToleranceSeconds,
          currentDate: new Date(now),
          requiredClaims: ['sub', 'exp', settings.authenticatedAtClaim],
        })
        return principalOf(payload, settings)
      } catch (error) {
        if (isRefused(error)) return undefined
        throw error // keys that cannot be had, which the host has to hear of
      }
    },
  })
}

function isDate(time: number): boolean {
  return Math.abs(time) <= 8.64e15
}

function keysOf({ jwks, jwksUrl, jwksTimeoutMs }: Settings): JWTVerifyGetKey {
  if (jwks) return createLocalJWKSet(jwks)
  return createRemoteJWKSet(new URL(jwksUrl ?? ''), { timeoutDuration: jwksTimeoutMs })
}

/** What is wrong with the token, and not with the keys or the way to them. */
function isRefused(error: unknown): boolean {
  return [
    errors.JWTClaimValidationFailed,
    errors.JWTExpired,
    errors.JWTInvalid,
    errors.JWSInvalid,
    errors.JWSSignatureVerificationFailed,
    errors.JOSEAlgNotAllowed,
    errors.JOSENotSupported,
    errors.JWKSNoMatchingKey,
  ].some((kind) => error instanceof kind)
}

function principalOf(payload: JWTPayload, settings: Settings): Principal | undefined {
  const { sub, acr } = payload
  const seconds = payload[settings.authenticatedAtClaim]
  if (typeof sub !== 'string' || typeof seconds !== 'number' || !Number.isFinite(seconds)) return undefined
  const listed = typeof acr === 'string' && Object.hasOwn(settings.assuranceByAcr, acr)
  const assurance = listed ? settings.assuranceByAcr[acr] : settings.assurance
  if (assurance === undefined) return undefined
  const proven = { assurance, authenticatedAt: Math.floor(seconds * 1_000) }
  const { issuer, kind } = settings
  const subject: Principal = { id: idOf(issuer, sub), kind, ...proven }
  return payload.act === undefined ? subject : actorOf(payload.act, { subject, issuer, depth: 2 })
}

/** Injective: no issuer holds a `#`. */
function idOf(issuer: string, sub: string): string {
  return `${issuer}#${sub}`
}

interface ActorTerms {
  readonly subject: Principal
  readonly issuer: string
  readonly depth: number
}

/** The innermost actor acted for the subject first; the outermost one is who shows the token. */
function actorOf(act: unknown, { subject, issuer, depth }: ActorTerms): Principal | undefined {
  if (typeof act !== 'object' || act === null || depth > actingMax) return undefined
  const { sub, iss = issuer, act: earlier } = act as Readonly<Record<string, unknown>>
  if (typeof sub !== 'string' || iss !== issuer) return undefined
  const onBehalfOf = earlier === undefined ? subject : actorOf(earlier, { subject, issuer, depth: depth + 1 })
  const { assurance, authenticatedAt } = subject
  return onBehalfOf && { id: idOf(issuer, sub), kind: 'agent', assurance, authenticatedAt, onBehalfOf }
}
