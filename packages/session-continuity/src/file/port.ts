import { isSessionError } from '@tidemark/session-core'

/** Everything the file store asks of the world, so that a test can let any of it fail. */
export interface ContinuityPort {
  /** `create`: exclusive, for writing. Neither follows a link in the last place of the path. */
  open(path: string, how: 'read' | 'create'): Promise<PortFile>
  /** Does not follow a link in the last place of the path. */
  stat(path: string): Promise<FileStat>
  /** The path with every link in it followed. */
  realpath(path: string): Promise<string>
  readdir(path: string): Promise<readonly string[]>
  mkdir(path: string): Promise<void>
  /** Refuses when the new name is there. */
  link(from: string, to: string): Promise<void>
  unlink(path: string): Promise<void>
  chmod(path: string, mode: number): Promise<void>
  /** Makes the names in a folder durable. */
  syncFolder(path: string): Promise<void>
  /** Hexadecimal digits, two for each byte. */
  random(sizeBytes: number): string
  pause(durationMs: number): Promise<void>
  /** Whether the file system keeps modes: nothing is asked of them where it does not. */
  readonly hasModes: boolean
  /** Without it nothing tells a living incarnation from a dead one, and none is begun. */
  readonly locks?: LockPort
}

/** Names that the kernel frees when their holder dies, and keeps while it is stopped. */
export interface LockPort {
  /** Holds a name in a folder. `unsupported`: this system has no such names. */
  hold(folder: string, name: string): Promise<Hold>
  /** Whether anybody holds it. */
  isHeld(folder: string, name: string): Promise<boolean>
}

export type Hold =
  | { readonly kind: 'held'; readonly release: () => Promise<void> }
  | { readonly kind: 'taken' }
  | { readonly kind: 'unsupported' }

export interface PortFile {
  /** Returns the bytes read; 0 at the end. */
  read(into: Uint8Array, offset: number): Promise<number>
  /** Returns the bytes written, which may be fewer than given. */
  write(bytes: Uint8Array, offset: number): Promise<number>
  /** Content and length are on stable storage when it resolves. */
  sync(): Promise<void>
  stat(): Promise<FileStat>
  chmod(mode: number): Promise<void>
  close(): Promise<void>
}

export interface FileStat {
  readonly kind: 'file' | 'folder' | 'other'
  readonly sizeBytes: number
  /** The permission bits. */
  readonly mode: number
}

/** True for what a call to the system was refused with. */
function isSystemFailure(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && !isSessionError(error) && 'code' in error && typeof error.code === 'string'
}

/** What the system refused something with; `undefined` for any other error. */
export function systemCode(error: unknown): string | undefined {
  return isSystemFailure(error) ? error.code : undefined
}

/** True when the system refused for one of these reasons. */
export function hasReason(error: unknown, ...reasons: readonly string[]): boolean {
  return isSystemFailure(error) && reasons.includes(error.code)
}
