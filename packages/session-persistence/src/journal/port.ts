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
  /**
   * The names in a folder and the identity of a file in it, at once: a writer asks for each batch, and the kernel has
   * them in memory. Absent: they are asked for one after the other.
   */
  glance?(folder: string, name: string): Glance
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
  /** Resolves early when it is aborted. */
  pause(durationMs: number, signal?: AbortSignal): Promise<void>
  /** Runs work once, unless it is called off before. Does not keep the process alive. */
  later(delayMs: number, work: () => void): () => void
  identity(): Promise<ProcessIdentity & { readonly bootId: string | null }>
  /** Whether the file system keeps modes: nothing is asked of them where it does not. */
  readonly hasModes: boolean
  /** Whom the file system takes this process for. Absent where files have no owners. */
  readonly owner?: number
  /** The kind of the file system at a path, if other machines may share it. */
  networkFs(path: string): Promise<string | undefined>
  /** How packs are compressed. Absent: Brotli, in the thread pool. */
  readonly codec?: Codec
  /** Absent where nothing tells whether a writer lives; then the epochs alone keep writers apart. */
  readonly locks?: LockPort
}

/** Makes text smaller, and back. */
export interface Codec {
  compress(text: Uint8Array): Promise<Uint8Array>
  /** @throws when it is no text, or more than so many bytes of it. */
  expand(packed: Uint8Array, sizeBytesMax: number): Promise<Uint8Array>
}

/** Names that the kernel frees when their holder dies, and keeps while it is stopped. */
export interface LockPort {
  /** Holds a name; everybody who asks for it is greeted. */
  hold(address: LockAddress, greeting: string): Promise<HoldOutcome>
  /** Whether anybody holds a name. */
  ask(address: LockAddress): Promise<LockAnswer>
}

/** `machine`: a name known all over this machine. `folder`: a name in a folder, seen wherever the folder is. */
export type LockAddress =
  | { readonly kind: 'machine'; readonly name: string }
  | { readonly kind: 'folder'; readonly path: string; readonly name: string }

/** `unsupported`: this system has no such names. */
export type HoldOutcome =
  | { readonly kind: 'held'; readonly release: () => Promise<void> }
  | { readonly kind: 'taken' }
  | { readonly kind: 'unsupported' }

/** `held` without a greeting: its holder is stopped, or does not speak in time. */
export type LockAnswer =
  | { readonly kind: 'free' }
  | { readonly kind: 'held'; readonly greeting?: string }
  | { readonly kind: 'unsupported' }

export interface Glance {
  readonly names: readonly string[]
  readonly identity: string
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
  /** Whose it is; absent where files have no owners. */
  readonly owner?: number
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
