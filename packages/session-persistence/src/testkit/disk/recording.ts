import type { DiskImage } from './image.ts'

/** Something that changed a disk. */
export type DiskOperation =
  | {
      readonly name: 'write'
      readonly path: string
      readonly inode: number
      readonly offset: number
      readonly bytes: Buffer
    }
  | {
      readonly name:
        'create' | 'sync' | 'failed sync' | 'mkdir' | 'rmdir' | 'rename' | 'link' | 'unlink' | 'syncFolder'
      readonly path: string
    }

/** What was done to a disk: `images[index]` is how it was before `operations[index]`; the last one is its end. */
export interface Recording {
  readonly operations: readonly DiskOperation[]
  readonly images: readonly DiskImage[]
}
