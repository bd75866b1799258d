import { inTime } from './in-time.ts'
import { actingChain, type Principal } from './principal.ts'

/** What can be granted of continuity itself. */
export type ContinuityOperation =
  'begin' | 'resume' | 'raise' | 'reset' | 'refresh' | 'recover' | 'orphans' | 'acknowledge' | 'verify'

/** What can be granted; `session/resume` and the like are what persistence asks for. */
export type Operation = ContinuityOperation | `session/${string}`

export interface GrantQuestion {
  readonly principal: Principal
  readonly scope: string
}

export interface Grant {
  readonly operations: readonly Operation[]
  /** Milliseconds since the epoch: from then on it grants nothing. */
  readonly until?: number
}

/** The host's answer to what a principal may do in a scope now. `undefined` is nothing. */
export type GrantsFunction = (question: GrantQuestion) => Grant | undefined | Promise<Grant | undefined>

export interface GrantsOptions {
  /** Without one nothing is granted. */
  readonly ask: GrantsFunction | undefined
  /** A host that takes longer has granted nothing. */
  readonly answerMsMax: number
  readonly now: () => number
  readonly report: (error: unknown) => void
}

/** UTF-16 code units of an operation's name. */
const operationLengthMax = 100

function isOperation(value: unknown): value is string {
  return typeof value === 'string' && value.length <= operationLengthMax
}

/** Operations in one grant. */
const operationsMax = 100

/** What the host grants, asked afresh every time. */
export class Grants {
  constructor(private readonly options: GrantsOptions) {}

  /** What is granted now; for one who acts for others, what is granted to all of them. */
  async current(principal: Principal, scope: string): Promise<readonly string[]> {
    const answers = await Promise.all(
      actingChain(principal).map((each) => this.ask({ principal: each, scope })),
    )
    const [own = [], ...others] = answers
    return own.filter((operation) => others.every((other) => other.includes(operation)))
  }

  private async ask(question: GrantQuestion): Promise<readonly string[]> {
    const { ask, answerMsMax, now, report } = this.options
    if (!ask) return []
    try {
      const asked = (async () => ask(Object.freeze(question)))()
      const grant = await inTime(asked, answerMsMax, () => undefined)
      if (!grant || !Array.isArray(grant.operations) || grant.operations.length > operationsMax) return []
      const { until } = grant
      // Written so that a time that is no number grants nothing.
      if (until !== undefined && !(now() < until)) return []
      return [...new Set(grant.operations.filter(isOperation))]
    } catch (error) {
      report(error) // who fails to answer has granted nothing
      return []
    }
  }
}

/** Whether both what was recorded and what is granted now hold an operation. */
export function isAllowed(
  operation: string,
  { recorded, current }: { readonly recorded?: readonly string[]; readonly current: readonly string[] },
): boolean {
  return current.includes(operation) && (recorded === undefined || recorded.includes(operation))
}
