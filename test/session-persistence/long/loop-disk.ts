import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type DiskKind = 'ext4' | 'xfs'

const mebibyte = 1_048_576
/** The smallest that `mkfs.xfs` makes, and what ext4 needs for a journal and some large batches. */
const imageSizeBytes = { ext4: 128 * mebibyte, xfs: 300 * mebibyte }
const makeCommands = { ext4: ['mkfs.ext4', '-q', '-F'], xfs: ['mkfs.xfs', '-q', '-f'] }

/**
 * `lose`: what is not on the disk is gone. `keep-log`: the file system's own log still gets there, data does not.
 * `in-sync`: the same, while the system writes everything back, so that a part of it is there.
 */
export type Cut = (typeof cutKinds)[number]
export const cutKinds = ['lose', 'keep-log', 'in-sync'] as const

/**
 * A file system of its own in an image file, whose power can be cut.
 *
 * 1. It mounts nothing but its own image, at its own folder, and unmounts nothing else.
 * 2. After `dispose` nothing of it is mounted or attached.
 */
export class LoopDisk {
  readonly path: string
  private readonly image: string
  private breaker: ChildProcess | undefined

  private constructor(
    private readonly folder: string,
    readonly kind: DiskKind,
  ) {
    this.image = join(folder, 'image')
    this.path = join(folder, 'mounted')
  }

  /** An empty, mounted disk; everything of it is in the folder, which must not exist. */
  static async create(folder: string, kind: DiskKind): Promise<LoopDisk> {
    const disk = new LoopDisk(folder, kind)
    mkdirSync(disk.path, { recursive: true })
    try {
      writeFileSync(disk.image, '')
      truncateSync(disk.image, imageSizeBytes[kind])
      const [command = '', ...options] = makeCommands[kind]
      must(command, ...options, disk.image)
      disk.mount()
    } catch (error) {
      await disk.dispose()
      throw error
    }
    return disk
  }

  mount(): void {
    must('mount', '-o', 'loop', '-t', this.kind, this.image, this.path)
  }

  /** Makes ready to cut, so that a cut takes no time. */
  arm(): void {
    this.breaker = spawn('xfs_io', ['-x', this.path], { stdio: ['pipe', 'ignore', 'ignore'] })
  }

  /** From now on nothing reaches the image; what was only in memory is lost when it is unmounted. */
  async cut(how: Cut): Promise<void> {
    const { breaker } = this
    if (breaker === undefined) throw new TypeError('the disk is not armed')
    const syncing = how === 'in-sync' ? spawn('sync', ['-f', this.path], { stdio: 'ignore' }) : undefined
    const synced = syncing && once(syncing, 'exit')
    if (syncing) await once(syncing, 'spawn')
    breaker.stdin?.end(how === 'lose' ? 'shutdown\n' : 'shutdown -f\n')
    await once(breaker, 'exit')
    await synced
    this.breaker = undefined
    if (!refusesWrites(this.path)) throw new TypeError(`${this.path} takes writes after the cut`)
  }

  unmount(): void {
    must('umount', this.path)
  }

  /** Idempotent. */
  async dispose(): Promise<void> {
    if (this.breaker) {
      this.breaker.stdin?.end()
      await once(this.breaker, 'exit')
      this.breaker = undefined
    }
    if (isMounted(this.path)) this.unmount()
    for (const device of devicesOf(this.image)) must('losetup', '-d', device)
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** Why this machine cannot cut the power of a disk, if it cannot. */
export async function whyNoCuts(folder: string): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'loop devices are Linux only'
  if (process.getuid?.() !== 0) return 'mounting needs root'
  for (const command of ['xfs_io', 'mkfs.xfs', 'mkfs.ext4', 'losetup']) {
    if (spawnSync(command, ['-V']).error) return `${command} is not installed`
  }
  if (!existsSync('/dev/loop-control')) return 'there are no loop devices'
  for (const kind of ['ext4', 'xfs'] as const) {
    try {
      await (await LoopDisk.create(join(folder, `try-${kind}`), kind)).dispose()
    } catch (error) {
      return `${kind} cannot be mounted here: ${String(error)}`
    }
  }
  return undefined
}

function refusesWrites(path: string): boolean {
  try {
    writeFileSync(join(path, 'after-the-cut'), '')
    return false
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EIO') return true
    throw error
  }
}

/** Whether something is mounted at exactly this path. */
function isMounted(path: string): boolean {
  return spawnSync('mountpoint', ['-q', path]).status === 0
}

/** The loop devices that an image is attached to: none, as soon as it is unmounted. */
function devicesOf(image: string): string[] {
  if (!existsSync(image)) return []
  const listed = String(must('losetup', '--noheadings', '--output', 'NAME', '--associated', image))
  return listed.split('\n').filter(Boolean)
}

function must(command: string, ...args: readonly string[]): Buffer {
  const { status, stdout, stderr, error } = spawnSync(command, args)
  if (error) throw error
  if (status === 0) return stdout
  throw new TypeError(`${command} ${args.join(' ')}: ${String(stderr).trim()}`)
}
