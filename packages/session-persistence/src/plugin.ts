import { tracked, type Host, type Sessions } from '@tidemark/session-core'
import { z } from 'zod'
import { systemPort } from './journal/fs.ts'
import { segmentSizeBytesMax } from './journal/size.ts'
import { JournalStorage } from './journal/storage.ts'
import { Persistence } from './persistence.ts'
import type { EnabledBy, SessionStorage } from './storage.ts'
import { StoredSessions } from './stored-sessions.ts'
import { decideSwitch, switchVariable } from './switch.ts'

export const name = 'tidemark-session-persistence'

export const inject = ['sessions']

export const Config = z
  .strictObject({
    /** Left out, `TIDEMARK_SHARED_RUNTIME=1` switches it on. */
    enabled: z.boolean().optional(),
    /** A folder for the embedded journal. Left out, `ctx.sessionStorage` of another plugin is used. */
    root: z.string().min(1).optional(),
    /** How long an event may wait for others to share its write. */
    flushDelayMs: z.int().min(0).max(1_000).default(200),
    /** Bytes of one session that may wait to be written. */
    pendingSizeBytesMax: z.int().min(1).default(67_108_864),
    /**
     * Of the journal in `root`. `strict` writes its durable head before each acknowledgement: damage is never taken
     * for the end of a crash, at the price of a second sync. `lazy` does so within a second.
     */
    durability: z.enum(['lazy', 'strict']).default('lazy'),
    /** Of the journal in `root`: a segment that is larger is followed by another one. */
    segmentSizeBytesMax: z.int().min(4_096).max(1_073_741_824).default(segmentSizeBytesMax),
    /** Of the journal in `root`: whether what is sealed is packed, to a sixth of its size. */
    compress: z.boolean().default(true),
    /** Whether `root` may be on a file system of the network, where exclusive creation and syncs may not hold. */
    allowNetworkFs: z.boolean().default(false),
    /** Events since the last snapshot of the projections after which the next one is taken, in the background. */
    snapshotEvents: z.int().min(1).default(20_000),
    /** The same in bytes, counted as for `retainSizeBytes`. */
    snapshotSizeBytes: z.int().min(1).default(4_194_304),
    /** Durable events that a session keeps in memory once a snapshot holds them: `history` reads older ones. */
    retainEvents: z.int().min(0).default(10_000),
    /** The same in bytes of JSON: of a chunk of a stream, what it takes at most, up to six for a character. */
    retainSizeBytes: z.int().min(0).default(16_777_216),
    /** `required`: nothing stored is touched for a caller unless `tidemark/authorize` says yes. */
    authorize: z.enum(['off', 'required']).default('off'),
  })
  .prefault({})
/** What a host writes; everything has a default. */
export type Config = Readonly<z.input<typeof Config>>
type Settings = Readonly<z.output<typeof Config>>

/** A context that can wait for a service. */
interface WaitingHost extends Host {
  inject(services: readonly string[], callback: (ctx: Host) => void): unknown
}

/**
 * Provides `ctx.sessionPersistence`, and with a `root` also `ctx.sessionStorage`. Off, it touches nothing.
 * When it is unloaded, the plugins that use it go first, then what is open is flushed and closed, then the
 * storage.
 */
export function apply(ctx: WaitingHost, config?: Config): void {
  const settings = Config.parse(config)
  const state = decideSwitch(settings.enabled, process.env[switchVariable])
  const { root, durability, segmentSizeBytesMax: sizeBytesMax, compress, allowNetworkFs } = settings
  if (state.kind === 'off') {
    ctx.effect(() =>
      ctx.provide(
        'sessionPersistence',
        tracked(new Persistence(ctx, state, undefined), 'sessionPersistence'),
      ),
    )
  } else if (root === undefined) {
    if (ctx.get('sessionStorage') === undefined) {
      ctx.logger.warn(
        'persistence is on and waits for ctx.sessionStorage: set `root`, or load a storage plugin',
      )
    }
    ctx.inject(['sessions', 'sessionStorage'], (inner) => {
      const storage = inner.get('sessionStorage') as SessionStorage
      inner.effect(() => provide(inner, storage, { settings, by: state.by }), 'ctx.sessionPersistence')
    })
  } else {
    ctx.effect(function* () {
      const storage = new JournalStorage({
        root,
        port: systemPort,
        durability,
        segmentSizeBytesMax: sizeBytesMax,
        compress,
        allowNetworkFs,
      })
      yield () => storage.close()
      yield ctx.provide('sessionStorage', storage)
      yield* provide(ctx, storage, { settings, by: state.by })
    }, 'ctx.sessionPersistence')
  }
}

function* provide(
  ctx: Host,
  storage: SessionStorage,
  { settings, by }: { settings: Settings; by: EnabledBy },
): Generator<() => unknown, void> {
  const { flushDelayMs, pendingSizeBytesMax, authorize, ...window } = settings
  const options = { storage, enabledBy: by, flushDelayMs, pendingSizeBytesMax, authorize, window }
  const stored = new StoredSessions(ctx, ctx.get('sessions') as Sessions, options)
  yield () => stored.close()
  yield ctx.provide(
    'sessionPersistence',
    tracked(new Persistence(ctx, { kind: 'on', by }, stored), 'sessionPersistence'),
  )
}
