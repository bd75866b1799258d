import {
  SessionError,
  isSession,
  refuseId,
  type AnySessionEvent,
  type HistoryPage,
  type Host,
  type Session,
  type Sessions,
  type SessionRecovered,
} from '@tidemark/session-core'
import type {
  Caller,
  CreateRequest,
  FollowedBatch,
  FollowRequest,
  ForkRequest,
  InspectRequest,
  ListRequest,
  RemoveRequest,
  RepairRequest,
  ResumeRequest,
  SalvageRequest,
  StoredHistoryRequest,
} from './request.ts'
import type { Salvaged } from './salvage.ts'
import type { Verdict } from './storage.ts'
import type { StoredSessions } from './stored-sessions.ts'
import type { StoredView } from './stored-view.ts'
import type { SummaryPage } from './summary.ts'
import type { Switch } from './switch.ts'

/**
 * Sessions that outlive the process: `ctx.sessionPersistence`.
 *
 * 1. A session that it returns is claimed: the claim is durable, and no earlier writer acknowledges anything
 *    for it.
 * 2. Off, it touches no file, and what it creates is memory only.
 * 3. A caller who may not is told the same as if the session did not exist. Only a `create` or a fork that would be
 *    allowed tells that an id is taken: `EXISTS`, whoever's it is.
 */
export class Persistence {
  constructor(
    protected readonly ctx: Host,
    readonly state: Switch,
    private readonly stored: StoredSessions | undefined,
  ) {}

  /**
   * A new session, which belongs to the calling plugin. Off: a memory-only one.
   * @throws SessionError `INVALID_ID`, `INVALID_PAYLOAD` (meta), `EXISTS`, `STORAGE_FAILED`.
   */
  async create(request: CreateRequest = {}): Promise<Session> {
    const sessions = this.sessions()
    if (this.stored) return this.stored.create(sessions, request)
    return sessions.create(without(request))
  }

  /**
   * Goes on with a stored session. Nothing is left behind when its history cannot be understood. What a crash left
   * unfinished is set aside, told with `tidemark/recovered`, and stands in the log as `session/recovered`.
   * @throws SessionError `DISABLED`, `NOT_FOUND` (nothing is created), `UNKNOWN_TYPE` naming the type, its
   * seq and its writer, `LOCKED` (`holder` says by whom; `force` takes over), `FENCED`, `CORRUPT`, `INVALID_SEQ` (of
   * the receipt), `UNSUPPORTED_FORMAT`, `STORAGE_FAILED`.
   */
  async resume(id: string, request: ResumeRequest = {}): Promise<Session> {
    refuseId(id)
    return this.enabled(id).resume(this.sessions(), id, request)
  }

  /**
   * A new session that inherits another one's events up to and including `through`. The source does not
   * change; a living one is flushed as far as it is inherited. A boundary that waits alone is not inherited:
   * the child has its own.
   * @throws SessionError as `create` and `resume` do, and `INVALID_SEQ`.
   */
  async fork(source: string | Session, request: ForkRequest = {}): Promise<Session> {
    const sessions = this.sessions()
    const id: unknown = isSession(source) ? source.id : source
    refuseId(id)
    if (this.stored) return this.stored.forks.fork(sessions, source, request)
    const living = typeof source === 'string' ? sessions.find(source) : source
    // A receipt speaks of what is stored.
    if (living === undefined || request.receipt) throw disabled(id)
    return sessions.fork(living, without(request))
  }

  /**
   * What is stored of a session, to read. Writes nothing at all. What its last writer had open reads as live
   * until somebody resumes it: the log cannot tell a writer that died from one that goes on. What stands above
   * the view's `durableSeq` may still be lost; a `rest` of kind `pending` says that a writer lives.
   * @throws SessionError as `resume` does, but for `FENCED`; `LOCKED` only when others keep taking it over meanwhile.
   */
  async inspect(id: string, request: InspectRequest = {}): Promise<StoredView> {
    refuseId(id)
    return this.enabled(id).inspect(id, request)
  }

  /**
   * A page of a stored session's events, as they are stored: nothing is folded, no type need be known, and nothing but
   * the page is read. Writes nothing at all. Each page is proven, and is of the log that bears the id when it is asked for:
   * nothing binds it to the page before, which may be of a session that was removed since. A view's pages are bound.
   * @throws SessionError `DISABLED`, `NOT_FOUND`, `CORRUPT` where the page is damaged, `INVALID_SEQ`, `STORAGE_FAILED`,
   * `UNSUPPORTED_FORMAT`; `LOCKED` only when others keep taking it over meanwhile.
   */
  async history(id: string, request: StoredHistoryRequest = {}): Promise<HistoryPage<AnySessionEvent>> {
    refuseId(id)
    return this.enabled(id).history(id, request)
  }

  /**
   * The batches of a stored session that come after a cursor, and those that a living writer is still to write, in
   * another process or in this one. Writes nothing at all, and reads nothing twice.
   * @throws SessionError, while it is read: `DISABLED`, `INVALID_SEQ`, `NOT_FOUND` (also once it is removed), `CORRUPT`
   * when the log is damaged or is not the one that the cursor is of, `TAIL_MOVED` when it does not hold any more what was
   * not durable yet, as after a takeover: `intactThrough` says what is.
   */
  follow(id: string, request: FollowRequest = {}): AsyncGenerator<FollowedBatch, void> {
    refuseId(id)
    return this.enabled(id).following.follow(id, request)
  }

  /**
   * A page of the stored sessions that the caller may list: newest human activity first; damaged ones last,
   * with the reason.
   * @throws SessionError `DISABLED`, `STORAGE_FAILED`, `INVALID_SEQ` for an `after` that is no `next` of a
   * page.
   */
  async list(request: ListRequest = {}): Promise<SummaryPage> {
    return this.enabled('list').list(request)
  }

  /**
   * Reads everything that is stored of a session, and says what it found. Writes nothing at all.
   * @throws SessionError `DISABLED`, `NOT_FOUND`, `STORAGE_FAILED`.
   */
  async verify(id: string, request: Caller = {}): Promise<Verdict> {
    refuseId(id)
    return this.enabled(id).upkeep.verify(id, request)
  }

  /**
   * For an operator: gives up what follows `acceptLossAfter` in a log that is refused, so that it can be resumed. The
   * bytes are kept, and the loss is recorded: the next resume tells of it.
   * @throws SessionError `DISABLED`, also where the storage cannot; `NOT_FOUND`, `INVALID_SEQ` unless a whole batch
   * ends there, `LOCKED`, `FENCED`, `STORAGE_FAILED`.
   */
  async repair(id: string, request: RepairRequest): Promise<SessionRecovered> {
    refuseId(id)
    return this.enabled(id).upkeep.repair(id, request)
  }

  /**
   * For an operator: a new session of what can still be read of a damaged one, which is not touched. Events keep
   * their seqs; an ignorable `tidemark/lost` stands for each that is missing, up to a million of them, an ignorable
   * `tidemark/unproven` for one that is not proven and of a type that nobody here defines, and the header says that it
   * was salvaged. It is not open: resume it.
   * @throws SessionError `DISABLED`, also where the storage cannot; `NOT_FOUND`, `EXISTS`, `INVALID_ID`,
   * `CORRUPT` when no event can be read, `INVALID_PAYLOAD` (meta), `STORAGE_FAILED`.
   */
  async salvage(id: string, request: SalvageRequest = {}): Promise<Salvaged> {
    refuseId(id)
    return this.enabled(id).upkeep.salvage(this.sessions(), id, request)
  }

  /**
   * Ends a stored session for good, with whatever stands in its place: damaged, or not even a session. Its forks stay.
   * One that is open, in this process or in another one that lives, is `LOCKED`; with `force` it goes all the same,
   * and whoever had it open hears `FENCED`.
   * @throws SessionError `DISABLED`, `NOT_FOUND`, `LOCKED`, `STORAGE_FAILED`.
   */
  async remove(id: string, request: RemoveRequest = {}): Promise<void> {
    refuseId(id)
    return this.enabled(id).upkeep.remove(id, request)
  }

  private enabled(id: string): StoredSessions {
    if (this.stored) return this.stored
    throw disabled(id)
  }

  /** As the caller sees it, so that a session belongs to the calling plugin. */
  private sessions(): Sessions {
    const sessions = this.ctx.get('sessions') as Sessions | undefined
    if (sessions) return sessions
    throw new SessionError('DISPOSED', 'ctx.sessions is gone')
  }
}

function disabled(sessionId: string): SessionError {
  const message = `${sessionId}: persistence is off; set enabled: true, or TIDEMARK_SHARED_RUNTIME=1`
  return new SessionError('DISABLED', message, { sessionId })
}

/** What core's own calls take of a request: they know no caller. */
function without<T extends CreateRequest & { carry?: readonly string[] }>(
  request: T,
): Omit<T, 'as' | 'carry'> {
  const { as: _, carry: __, ...rest } = request
  return rest
}
