import { createHash } from 'node:crypto'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type {
  Authenticator,
  GrantsFunction,
  Handle,
  Operation,
  Principal,
} from '@tidemark/session-continuity'
import { isSessionError } from '@tidemark/session-core'
import { endAfterTest } from '../clean-up.ts'
import { scratch } from './scratch.ts'
import {
  Config,
  Continuity,
  FileStore,
  rules,
  scopeName,
  systemPort,
  termsOf,
  type ContinuityPort,
  type LockPort,
  type Rules,
  type Terms,
} from './source.ts'

export const allOperations: readonly Operation[] = [
  ...([
    'begin',
    'resume',
    'raise',
    'reset',
    'refresh',
    'recover',
    'orphans',
    'acknowledge',
    'verify',
  ] as const),
  ...(
    ['create', 'resume', 'flush', 'fork', 'inspect', 'history', 'follow', 'list', 'verify', 'remove'] as const
  ).map((operation) => `session/${operation}` as const),
]

export type Life = Partial<Principal>

/** A credential that the mechanism `test` takes at its word. */
export function credential(id: string, more: Life = {}) {
  const principal = { id, kind: 'human', assurance: 1, authenticatedAt: 1_000, ...more }
  return { mechanism: 'test', token: JSON.stringify(principal) }
}

export const trusting: Authenticator = {
  mechanism: 'test',
  authenticate: async (token) => JSON.parse(token ?? 'null') as Principal,
}

/** Every principal may do everything in every scope. */
export const everything: GrantsFunction = () => ({ operations: allOperations })

/** Only these, each in these scopes. */
export function granted(table: Readonly<Record<string, readonly string[]>>): GrantsFunction {
  return ({ principal, scope }) =>
    table[principal.id]?.includes(scope) ? { operations: allOperations } : undefined
}

export interface ProcessOptions {
  readonly grants?: GrantsFunction
  readonly rules?: Partial<Rules> | undefined
  readonly terms?: Partial<Terms>
  readonly port?: ContinuityPort
  readonly config?: Partial<Config>
}

/** One deployment: a store and a witness, and the processes that use them. What a kernel does for locks, it does. */
export class World {
  readonly base: string
  private readonly held = new Map<string, symbol>()
  time = 10_000

  constructor(base = scratch()) {
    this.base = base
  }

  get root(): string {
    return join(this.base, 'root')
  }

  get witness(): string {
    return join(this.base, 'witness')
  }

  start(options: ProcessOptions = {}): TestProcess {
    const owner = Symbol('process')
    const base = options.port ?? systemPort
    const port = withLocks(base, this.locksOf(owner))
    const store = new FileStore({
      port,
      root: this.root,
      witness: this.witness,
      auditSizeBytesMax: options.config?.auditSizeBytesMax ?? 1_048_576,
    })
    const settings = Config.parse({
      root: this.root,
      witness: this.witness,
      authenticators: [trusting],
      grants: options.grants ?? everything,
      now: () => this.time,
      ...options.config,
    })
    const reported: unknown[] = []
    const report = (error: unknown): void => void reported.push(error)
    const terms = termsOf(settings, { store, rules: { ...rules, ...options.rules }, report })
    const continuity = new Continuity(undefined, { ...terms, ...options.terms })
    const die = (): void => {
      for (const [name, holder] of this.held) if (holder === owner) this.held.delete(name)
    }
    // A test may have left its world in pieces: whatever cannot be closed then is no matter of it.
    endAfterTest(() => continuity.close().catch(() => undefined))
    return { continuity, store, reported, die }
  }

  /** Everything that is in a folder of the deployment, by path; refusals are no part of what is kept. */
  files(part: 'root' | 'witness'): Map<string, string> {
    const found = new Map<string, string>()
    const walk = (path: string): void => {
      for (const name of existsSync(path) ? readdirSync(path) : []) {
        const child = join(path, name)
        if (name === 'refusals') continue
        if (statSync(child).isDirectory()) walk(child)
        else
          found.set(
            child.slice(this.base.length + 1),
            createHash('sha256').update(readFileSync(child)).digest('hex'),
          )
      }
    }
    walk(join(this.base, part))
    return found
  }

  /** A copy of the store as it is, to be put back later. */
  backup(part: 'root' | 'witness' = 'root'): () => void {
    const copy = scratch()
    cpSync(join(this.base, part), join(copy, part), { recursive: true })
    return () => {
      rmSync(join(this.base, part), { recursive: true, force: true })
      cpSync(join(copy, part), join(this.base, part), { recursive: true })
    }
  }

  private locksOf(owner: symbol): LockPort {
    return {
      hold: async (folder, name) => {
        const path = join(folder, name)
        if (this.held.has(path)) return { kind: 'taken' }
        this.held.set(path, owner)
        return { kind: 'held', release: async () => void this.held.delete(path) }
      },
      isHeld: async (folder, name) => this.held.has(join(folder, name)),
    }
  }
}

export interface TestProcess {
  readonly continuity: Continuity
  readonly store: FileStore
  readonly reported: unknown[]
  /** As a kill does: nothing is closed, and the kernel frees what was held. */
  readonly die: () => void
}

export function withLocks(port: ContinuityPort, locks: LockPort): ContinuityPort {
  return new Proxy(port, {
    get: (target, key) => {
      if (key === 'locks') return locks
      const value: unknown = Reflect.get(target, key)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

export interface Refusal {
  readonly code: string
  readonly reason: unknown
  readonly message: string
  readonly details: object
}

/** How something is refused; fails when it is not. */
export async function refusalOf(work: () => Promise<unknown>): Promise<Refusal> {
  try {
    await work()
  } catch (error) {
    if (!isSessionError(error)) throw error
    return { code: error.code, reason: error.details.reason, message: error.message, details: error.details }
  }
  throw new NotRefused()
}

export class NotRefused extends Error {}

export async function reasonFor(work: () => Promise<unknown>): Promise<unknown> {
  return (await refusalOf(work)).reason
}

/** That a check notices when its guard is gone: it fails, by an assertion or because nothing was refused. */
export async function isNoticed(check: () => Promise<void>): Promise<boolean> {
  try {
    await check()
    return false
  } catch (error) {
    if (error instanceof NotRefused || (error instanceof Error && error.name === 'AssertionError'))
      return true
    throw error
  }
}

export const scope = 'project/deploy-bot'

/** The folders that a scope is stored in. */
export function foldersOf({ root, witness }: World, where = scope) {
  const name = scopeName(where)
  const folder = join(root, 'continuity', 'scopes', name)
  const state = readdirSync(folder).find((each) => each.startsWith('state-')) ?? 'none'
  return {
    folder,
    audit: join(folder, 'audit'),
    state: join(folder, state),
    witness: join(witness, 'scopes', name),
  }
}

/** The lines of one incarnation's audit file. */
export function linesOf(world: World, number: number, where = scope): string[] {
  const { audit } = foldersOf(world, where)
  const text = readFileSync(join(audit, `${String(number).padStart(6, '0')}.jsonl`), 'utf8')
  return text.split('\n').slice(0, -1)
}

export async function begin(process: TestProcess, id = 'alice', where = scope): Promise<Handle> {
  return process.continuity.open({ mode: 'begin', credential: credential(id), scope: where })
}

/** A scope that has reached a label, with nobody in it. */
export async function reached({
  label = 'secret',
  ...options
}: ProcessOptions & { label?: string } = {}): Promise<World> {
  const world = new World()
  const handle = await begin(world.start(options))
  await handle.raise(label)
  await handle.close()
  return world
}

export async function resume(
  process: TestProcess,
  id = 'alice',
  { where = scope, ...life }: Life & { where?: string } = {},
): Promise<Handle> {
  return process.continuity.open({ mode: 'resume', credential: credential(id, life), scope: where })
}
