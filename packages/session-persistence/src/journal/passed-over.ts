import { SessionError } from '@tidemark/session-core'

/** Folders, and names in each, that are remembered at the same time: the oldest are found again when they are read. */
const foldersMax = 64
const namesMax = 8

/** The snapshots that a reader could not use, by their folder, until a holder has set them aside. */
export class PassedOver {
  private readonly folders = new Map<string, Map<string, { isTold: boolean }>>()

  namesIn(path: string): ReadonlySet<string> {
    return new Set(this.folders.get(path)?.keys())
  }

  /** Whether the host heard of it. */
  isTold(path: string, name: string): boolean {
    return this.folders.get(path)?.get(name)?.isTold ?? false
  }

  add(path: string, name: string, { isTold }: { isTold: boolean }): void {
    const names = this.folders.get(path) ?? new Map<string, { isTold: boolean }>()
    names.set(name, { isTold: isTold || this.isTold(path, name) })
    dropOldest(names, namesMax)
    this.folders.delete(path) // the newest is the last to go
    this.folders.set(path, names)
    dropOldest(this.folders, foldersMax)
  }

  remove(path: string, name: string): void {
    const names = this.folders.get(path)
    if (names?.delete(name) && names.size === 0) this.folders.delete(path)
  }
}

/** What the host is told. Nothing is lost by it: what the snapshot stands for is in the log. */
export function passedOver(
  sessionId: string,
  name: string,
  found: { kind: string; reason: string },
): SessionError {
  const { kind, reason } = found
  const code = kind === 'unreadable' ? 'STORAGE_FAILED' : 'CORRUPT'
  const message = `${sessionId}: ${name} is passed over: ${reason}; nothing of the log is lost by that`
  return new SessionError(code, message, { sessionId, segment: name, reason })
}

function dropOldest(all: Map<string, unknown>, countMax: number): void {
  for (const oldest of all.keys()) {
    if (all.size <= countMax) break
    all.delete(oldest)
  }
}
