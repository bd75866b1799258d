import { inTime } from './in-time.ts'
import { findPrincipal, type Principal } from './principal.ts'
import { refusal } from './refusal.ts'

/** What a caller shows of itself: the mechanism that can check it, and what that mechanism takes. */
export interface Credential {
  readonly mechanism: string
  /** The secret. Never kept, never told. */
  readonly token?: string
}

/** Checks the credentials of one mechanism. */
export interface Authenticator {
  /** Lower-case letters, digits and `-`. The principals that it vouches for bear it in their ids. */
  readonly mechanism: string
  /** Whom the credential is of; `undefined` when it does not hold. What it throws is a no, and is reported. */
  authenticate(token: string | undefined, terms?: AuthenticateTerms): Promise<Principal | undefined>
}

export interface AuthenticateTerms {
  /** What the clock of the configuration says, in milliseconds since the epoch; the system's, without these terms. */
  readonly now: number
}

export interface AuthenticationOptions {
  readonly authenticators: readonly Authenticator[]
  readonly answerMsMax: number
  /** How far ahead of this clock a credential may have been made. */
  readonly clockToleranceMs: number
  readonly now: () => number
  readonly report: (error: unknown) => void
  readonly rules: { readonly authenticatorFor: typeof authenticatorFor }
}

const anonymousMechanism = 'anonymous'

/** Only what the host configured can vouch for anybody, also for nobody in particular. */
export function authenticatorFor(
  configured: ReadonlyMap<string, Authenticator>,
  mechanism: string,
): Authenticator | undefined {
  return configured.get(mechanism)
}

/** UTF-16 code units of a secret. */
const tokenLengthMax = 16_384

/** Says who asks, by the mechanisms that the host configured. */
export class Authentication {
  private readonly mechanisms: ReadonlyMap<string, Authenticator>

  constructor(private readonly options: AuthenticationOptions) {
    this.mechanisms = new Map(options.authenticators.map((each) => [each.mechanism, each]))
  }

  /** @throws SessionError `DENIED`: `anonymous` without a credential and without the mechanism, `bad-credential`. */
  async authenticate(credential: unknown): Promise<Principal> {
    const shown = shownIn(credential)
    const authenticator = this.options.rules.authenticatorFor(this.mechanisms, shown.mechanism)
    if (!authenticator && shown.mechanism === anonymousMechanism) {
      const message = 'nobody is let in without a credential: the mechanism "anonymous" is not configured'
      throw refusal('anonymous', message, { mechanism: anonymousMechanism })
    }
    const principal = authenticator && (await this.ask(authenticator, shown.token))
    if (principal) return principal
    throw refusal('bad-credential', 'the credential does not hold')
  }

  private async ask(authenticator: Authenticator, token: string | undefined): Promise<Principal | undefined> {
    const { answerMsMax, clockToleranceMs, now, report } = this.options
    try {
      const asked = authenticator.authenticate(token, { now: now() })
      const answered = await inTime(asked, answerMsMax, () => undefined)
      const principal = findPrincipal(answered && named(answered, authenticator.mechanism))
      // One from the future would make every later one look stale.
      return principal && principal.authenticatedAt <= now() + clockToleranceMs ? principal : undefined
    } catch (error) {
      report(error) // who cannot check has not vouched for anybody
      return undefined
    }
  }
}

function shownIn(credential: unknown): Credential {
  if (credential === undefined) return { mechanism: anonymousMechanism }
  const { mechanism, token } = Object(credential) as Partial<Record<string, unknown>>
  const isToken = token === undefined || (typeof token === 'string' && token.length <= tokenLengthMax)
  if (typeof mechanism === 'string' && isToken) return { mechanism, ...(token !== undefined && { token }) }
  throw refusal('bad-credential', 'a credential names its mechanism, and holds a token of bounded length')
}

/** What two mechanisms call by the same name are two principals. */
function named(principal: Principal, mechanism: string): Principal {
  const { id, onBehalfOf, ...rest } = principal
  return {
    ...rest,
    id: typeof id === 'string' ? `${mechanism}:${id}` : id,
    ...(onBehalfOf && { onBehalfOf: named(onBehalfOf, mechanism) }),
  }
}
