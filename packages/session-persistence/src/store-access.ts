import {
  isSessionError,
  isUnbegun,
  type Host,
  type HistorySource,
  type SessionError,
  type SessionHeader,
  type SessionRecovered,
  type Sessions,
  type SessionSource,
  type SessionView,
} from '@tidemark/session-core'
import { Authorization, type AuthorizationMode } from './authorization.ts'
import { OpenSessions } from './open-sessions.ts'
import { noBatch } from './refused-read.ts'
import type { WindowTerms } from './session-window.ts'
import type { Claim, EnabledBy, Lease, SessionStorage, Tail } from './storage.ts'
import { StoredHistory } from './stored-history.ts'
import { asUnknown, readStored, untilStill, type StoredSession, type Wanted } from './stored-session.ts'
import { takeBack } from './take-back.ts'
import { ToldOnce } from './told-once.ts'
import { TypedStorage } from './typed-storage.ts'

export interface StoreOptions {
  readonly storage: SessionStorage
  readonly enabledBy: EnabledBy
  readonly flushDelayMs: number
  readonly pendingSizeBytesMax: number
  readonly authorize: AuthorizationMode
  readonly window: WindowTerms
}

/** What every operation on stored sessions goes through. */
export class StoreAccess {
  readonly storage: TypedStorage
  readonly authorization: Authorization
  readonly open: OpenSessions
  private readonly passedOver: ToldOnce

  constructor(
    private readonly host: Host,
    private readonly sessions: Sessions,
    private readonly options: StoreOptions,
  ) {
    const { storage, flushDelayMs, pendingSizeBytesMax, authorize, window } = options
    this.storage = new TypedStorage(storage)
    this.authorization = new Authorization(host, authorize, (id) => this.headerOf(id))
    const report = (error: unknown): void => this.report(error)
    this.passedOver = new ToldOnce(report)
    const { capabilities } = storage
    const shelf = this.storage.snapshots
    const writing = { capabilities, flushDelayMs, pendingSizeBytesMax }
    this.open = new OpenSessions({ sessions, ...writing, window, shelf, report })
  }

  report(error: unknown): void {
    this.host.logger.error(error)
  }

  newClaim(carry: readonly string[] = [], incarnation: string = globalThis.crypto.randomUUID()): Claim {
    return { incarnation, enabledBy: this.options.enabledBy, ...(carry.length > 0 && { carry }) }
  }

  /** What was made for a session that nobody was given. */
  takeBack(made: Lease): Promise<void> {
    return takeBack(this.storage, made, this.newClaim())
  }

  /** @throws SessionError as `readStored` does. */
  async read(id: string, wanted: Wanted = {}): Promise<StoredSession> {
    const { sessions, storage, options } = this
    let tails: readonly Tail[] = []
    const history = this.historyOf(id, () => tails)
    const report = (error: SessionError): void => this.passedOver.tell(error)
    const reading = { storage, sessions, history, retain: options.window, report }
    const read = await readStored(id, wanted, reading)
    tails = read.tails
    return read
  }

  /**
   * The whole of a stored session, for what is made of a part of it. `undefined` where nobody asks: then nothing is
   * read. Damage that a reader of the part need not care for makes it `unreadable`.
   */
  async sourceOf(id: string, carry: readonly string[] = []): Promise<SessionSource> {
    if (this.sessions.vocabulary.beginning.length === 0) return undefined
    try {
      const { view } = await this.read(id, { carry })
      await view.loadAll()
      return view
    } catch (error) {
      if (!isSessionError(error) || error.code === 'STORAGE_FAILED') throw error
      return 'unreadable'
    }
  }

  /**
   * What a stored session that is opened comes from: itself, or, where a fork was cut short, its parent. What an
   * operator gave up of it cannot be read any more.
   */
  async originOf(view: SessionView, recovered: readonly SessionRecovered[]): Promise<SessionSource> {
    if (recovered.some(({ evidence }) => evidence === 'operator')) return 'unreadable'
    const { parent } = view.header
    return parent && isUnbegun(view) ? (this.sessions.find(parent.id) ?? this.sourceOf(parent.id)) : view
  }

  /** Where a stored log ends, from its last batch. */
  tailOf(id: string): Promise<Tail> {
    return untilStill(id, async () => {
      const { batches } = await asUnknown(id, () => this.storage.read(id, { from: Number.MAX_SAFE_INTEGER }))
      let tail: Tail | undefined
      for await (const batch of batches) tail = batch.tail
      if (tail) return tail
      throw noBatch(id)
    })
  }

  /** `undefined` where nothing is stored, or no header can be read. */
  private async headerOf(id: string): Promise<SessionHeader | undefined> {
    try {
      return (await this.storage.read(id, { from: Number.MAX_SAFE_INTEGER })).header
    } catch (error) {
      if (!isSessionError(error) || !['NOT_FOUND', 'CORRUPT', 'UNSUPPORTED_FORMAT'].includes(error.code))
        throw error
      return error.code === 'CORRUPT' ? (await this.storage.salvage?.(id))?.header : undefined
    }
  }

  /** `tails`: as in `StoredHistory`. */
  historyOf(id: string, tails?: () => readonly Tail[]): HistorySource {
    return new StoredHistory(id, this.storage, tails)
  }
}
