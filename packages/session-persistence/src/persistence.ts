import {
  SessionError,
  isSession,
  refuseId,
  type Host,
  type Session,
  type Sessions,
  type SessionView,
} from '@tidemark/session-core'
import type { CreateRequest, ForkRequest, ListRequest, ReadRequest } from './request.ts'
import type { StoredSessions } from './stored-sessions.ts'
import type { SummaryPage } from './summary.ts'
import type { Switch } from './switch.ts'

/**
 * Sessions that outlive the process: `ctx.sessionPersistence`.
 *
 * 1. A session that it returns is claimed: the claim is durable, and no earlier writer acknowledges anything
 *    for it.
 * 2. Off, it touches no file, and what it creates is memory only.
 * 3. A caller who may not is told the same as if the session did not exist.
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
   * Goes on with a stored session. Nothing is left behind when its history cannot be understood.
   * @throws SessionError `DISABLED`, `NOT_FOUND` (nothing is created), `UNKNOWN_TYPE` naming the type, its
   * seq and its writer, `LOCKED`, `FENCED`, `CORRUPT`, `UNSUPPORTED_FORMAT`, `STORAGE_FAILED`.
   */
  async resume(id: string, request: ReadRequest = {}): Promise<Session> {
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
    if (this.stored) return this.stored.fork(sessions, source, request)
    const living = typeof source === 'string' ? sessions.find(source) : source
    if (living === undefined) throw disabled(id)
    return sessions.fork(living, without(request))
  }

  /**
   * What is stored of a session, to read. Writes nothing at all. What its last writer had open reads as live
   * until somebody resumes it: the log cannot tell a writer that died from one that goes on.
   * @throws SessionError as `resume` does, but for `LOCKED` and `FENCED`.
   */
  async inspect(id: string, request: ReadRequest = {}): Promise<SessionView> {
    refuseId(id)
    return this.enabled(id).inspect(id, request)
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
