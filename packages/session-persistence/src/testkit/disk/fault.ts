/** A call of the port, as it is about to happen. */
export interface DiskCall {
  /** Counted from 0 over the life of the disk. */
  readonly index: number
  readonly name: DiskCallName
  readonly path: string
}

export type DiskCallName =
  | 'open'
  | 'create'
  | 'stat'
  | 'realpath'
  | 'readdir'
  | 'mkdir'
  | 'rmdir'
  | 'rename'
  | 'link'
  | 'unlink'
  | 'chmod'
  | 'syncFolder'
  | 'read'
  | 'write'
  | 'sync'
  | 'fstat'
  | 'fchmod'
  | 'close'
  | 'networkFs'

/**
 * What a call meets. `short`: a write takes half of what it is given, without an error. `pages`: what a failed
 * sync does to what it did not write: `kept` for the next sync; `clean`, still readable and never written
 * again; or `dropped`, also from what is read.
 */
export type DiskFault =
  | { readonly kind: 'short' }
  | { readonly kind: 'refused'; readonly code: string; readonly pages?: 'kept' | 'clean' | 'dropped' }

/** What a system call is refused with. */
export function systemError(code: string): Error & { readonly code: string } {
  return Object.assign(new Error(`${code}: by the test`), { code })
}
