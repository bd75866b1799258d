import { tracked, type Sessions } from '@tidemark/session-core'
import { Authentication } from './authenticator.ts'
import { Config, type Settings } from './config.ts'
import { Continuity } from './continuity.ts'
import { Enforcement, storedHeaders } from './enforcement.ts'
import { systemPort } from './file/fs.ts'
import { FileStore } from './file/store.ts'
import { Grants } from './grants.ts'
import type { ContinuityHost } from './host.ts'
import { Labels } from './label.ts'
import { Refusals } from './refusals.ts'
import { rules as allRules, type Rules } from './rules.ts'
import { SessionLabels } from './session-labels.ts'
import { SessionOpenings } from './session-openings.ts'
import type { ContinuityStore } from './store.ts'
import { HandleBook, type Terms } from './terms.ts'

export const name = 'tidemark-session-continuity'
export const inject: string[] = []

/**
 * Provides `ctx.continuity`, and answers `tidemark/authorize`. When it is unloaded its users go first, then what is
 * open, with its sessions, which are written while there is an answer; then the listener, so that a store which
 * requires one refuses until there is one again.
 */
export function apply(ctx: ContinuityHost, config: Config): void {
  const settings = Config.parse(config)
  const files = fileStoreOf(settings)
  if (files) {
    provideContinuity(ctx, settings, { store: files })
    return
  }
  if (ctx.get('continuityStore') === undefined)
    ctx.logger.warn(
      'continuity waits for ctx.continuityStore: set `root` and `witness`, or load a store plugin',
    )
  ctx.inject(['continuityStore'], (inner) => {
    const store = inner.get('continuityStore') as ContinuityStore
    provideContinuity(inner, settings, { store, isBorrowed: true })
  })
}

/** The store in files, where the configuration says where. */
export function fileStoreOf({ root, witness, auditSizeBytesMax }: Settings): FileStore | undefined {
  if (root === undefined || witness === undefined) return undefined
  return new FileStore({ port: systemPort, root, witness, auditSizeBytesMax })
}

interface Provision {
  readonly store: ContinuityStore
  /** Whoever made the store closes it. */
  readonly isBorrowed?: boolean
  readonly rules?: Rules
}

/** With a store, and with rules, of somebody else: for other stores and for tests. */
export function provideContinuity(
  ctx: ContinuityHost,
  settings: Settings,
  { store, isBorrowed = false, rules = allRules }: Provision,
): Continuity {
  const report = (error: unknown): void => ctx.logger.warn(error)
  const terms = termsOf(settings, { store, isBorrowed, rules, report })
  const continuity = new Continuity(ctx, terms)
  const { refusals, handles, openings, sessionLabels } = terms
  const headerOf = settings.sessionHeader ?? storedHeaders(ctx)
  const asked = { refusals, handles, openings, sessionLabels, rules, headerOf, report }
  const enforcement = new Enforcement({ continuity, ...asked })
  ctx.inject(['sessions'], (inner) => {
    inner.effect(function* () {
      yield sessionLabels.join(inner.get('sessions') as Sessions)
      yield inner.on('tidemark/disposed', (session) => openings.disposed(session))
      // While a label can still be recorded with what is written.
      yield () => openings.endAll()
      yield () => openings.leave()
    }, 'label/raised')
  })
  ctx.effect(function* () {
    yield () => continuity.close()
    yield ctx.on('tidemark/authorize', (question) => enforcement.answer(question))
    yield () => continuity.closeHandles()
    yield ctx.provide('continuity', tracked(continuity, 'continuity'))
  }, 'ctx.continuity')
  return continuity
}

export interface TermsParts {
  readonly store: ContinuityStore
  readonly isBorrowed?: boolean
  readonly rules: Rules
  readonly report: (error: unknown) => void
}

export function termsOf(settings: Settings, parts: TermsParts): Terms {
  const { store, isBorrowed = false, rules, report } = parts
  const { floor, answerMsMax, clockToleranceMs, now, authenticators } = settings
  const labels = new Labels(settings.labels, floor ?? settings.labels[0] ?? '')
  const handles = new HandleBook(settings.handlesMax)
  const openings = new SessionOpenings(handles, settings.flushMsMax)
  return {
    store,
    closeStore: async () => (isBorrowed ? undefined : store.close()),
    rules,
    now,
    clockToleranceMs,
    labels,
    authentication: new Authentication({ authenticators, answerMsMax, clockToleranceMs, now, report, rules }),
    grants: new Grants({ ask: settings.grants, answerMsMax, now, report }),
    refusals: new Refusals({
      sink: store.refusals,
      now,
      report,
      burstMax: settings.refusedBurstMax,
      lineMs: settings.refusedLineMs,
    }),
    handles,
    sessionLabels: new SessionLabels({ labels, handles, openings, rules, report }),
    openings,
    report,
  }
}
