/** What a storage did that it must not, and how to see it again. */
export interface Finding {
  readonly problem: Problem
  /** Seed, story, operation and choice; the same options meet it again. */
  readonly at: Readonly<Record<string, string | number>>
}

export interface Problem {
  readonly kind: ProblemKind
  readonly detail: string
}

/**
 * - `lost`: an acknowledged event, session or removal is not there any more, or hidden.
 * - `altered`: an event is another than was appended, or a digest names other content than before.
 * - `invented`: there is what nobody wrote.
 * - `torn`: a part of a batch.
 * - `refused`: a state that a crash or a fault may leave cannot be read or claimed.
 * - `untyped`: something was thrown that is no `SessionError`, or one with a code that says something else.
 * - `unfenced`: a writer that was taken over from, that had failed, or whose session was removed, was acknowledged.
 * - `unsettled`: a second opening recovers again, or takes back what the first one said.
 * - `quarantine`: bytes that a recovery says it set aside are not there.
 * - `changed`: reading, or refusing, changed the disk.
 * - `leaked`: a descriptor stayed open.
 * - `unnoticed`: a fault was planted, and its campaign found nothing.
 * - `untried`: a campaign had nothing to try, so that it says nothing.
 */
export type ProblemKind =
  | 'lost'
  | 'altered'
  | 'invented'
  | 'torn'
  | 'refused'
  | 'untyped'
  | 'unfenced'
  | 'unsettled'
  | 'quarantine'
  | 'changed'
  | 'leaked'
  | 'unnoticed'
  | 'untried'

/** What a campaign comes to. It passed when `findingsCount` is 0. */
export interface CampaignResult {
  readonly figures: Readonly<Record<string, number>>
  /** The first ones. */
  readonly findings: readonly Finding[]
  readonly findingsCount: number
}

const findingsMax = 20

/** What a campaign was asked for. */
interface Asked {
  readonly seed?: number
  readonly triesMax?: number
}

/** Collects what a campaign finds: all are counted, the first ones kept. */
export class Findings {
  count = 0
  private readonly kept: Finding[] = []

  add(problem: Problem, at: Finding['at']): void {
    this.count += 1
    if (this.kept.length < findingsMax) this.kept.push({ problem, at })
  }

  /** A campaign that found nothing where one of these figures is 0 has not looked; unless it was to try nothing. */
  refuseUntried({ seed = 1, triesMax }: Asked, figures: CampaignResult['figures']): void {
    if (this.count > 0 || triesMax === 0) return
    const none = Object.keys(figures).filter((name) => figures[name] === 0)
    if (none.length > 0)
      this.add({ kind: 'untried', detail: `there were no ${none.join(' and no ')}` }, { seed })
  }

  result(figures: CampaignResult['figures']): CampaignResult {
    return { figures, findings: this.kept, findingsCount: this.count }
  }
}
