import { isSessionError } from '@tidemark/session-core'
import type { ProcessIdentity } from '../process.ts'

/** Everything the journal asks of the world, so that a test can let any of it fail. */
export interface JournalPort {
  /** `create`: exclusive, for writing. Neither follows a link in the last place of the path. */
  open(path: string, how: 'read' | 'create'): Promise<PortFile>
  /** Does not follow a link in the last place of the path. */
  stat(path: string): Promise<FileStat>
  /** The path with every link in it followed. */
  realpath(path: string): Promise<string>
  readdir(path: string): Promise<readonly string[]>
  mkdir(path: string): Promise<void>
  rmdir(path: string): Promise<void>
  rename(from: string, to: string): Promise<void>
  link(from: string, to: string): Promise<void>
  unlink(path: string): Promise<void>
  chmod(path: string, mode: number): Promise<void>
  /** Makes the names in a folder durable. */
  syncFolder(path: string): Promise<void>
  /** Milliseconds since the epoch. */
  now(): number
  /** Hexadecimal digits, two for each byte. */
  random(sizeBytes: number): string
  pause(durationMs: number): Promise<void>
  identity(): Promise<ProcessIdentity & { readonly bootId: string | null }>
  /** Whether the file system keeps modes: nothing is asked of them where it does not. */
  readonly hasModes: boolean
}

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
  /** The same for the same file, and for no other that exists. */
  readonly identity: string
}

/** True for what a call to the system was refused with. */
export function isSystemFailure(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && !isSessionError(error) && 'code' in error && typeof error.code === 'string'
}

/** True when the system refused for one of these reasons. */
export function hasReason(error: unknown, ...reasons: readonly string[]): boolean {
  return isSystemFailure(error) && reasons.includes(error.code)
}
