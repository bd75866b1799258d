import { dirname, join, relative, resolve, isAbsolute } from 'node:path'
import { z } from 'zod'
import { refusal } from '../refusal.ts'
import { scopeName } from '../scope.ts'
import type { Cell, CellFound, ContinuityStore, ReadTerms, ScopePlace } from '../store.ts'
import type { StoreIdentity } from '../store-identity.ts'
import { FileAuditShelf } from './audit-shelf.ts'
import { FileCell } from './cell.ts'
import { hasReason, type ContinuityPort } from './port.ts'
import { ensureFolder, ensureRoot, namesIn, onMedium } from './private-file.ts'
import { RefusalFiles } from './refusal-file.ts'

export interface FileStoreOptions {
  readonly port: ContinuityPort
  /** Everything is below `continuity` in it. */
  readonly root: string
  /** Outside of the root, better on another disk or under another owner. */
  readonly witness: string
  readonly auditSizeBytesMax: number
}

const idSchema = z.strictObject({ id: z.string().regex(/^[0-9a-f]{32}$/) })

/** Continuity in files: the states, audits and refusals below one folder, the witness below another. */
export class FileStore implements ContinuityStore {
  readonly refusals: RefusalFiles
  private readonly root: string
  private readonly witnessRoot: string
  private isApart = false

  constructor(private readonly options: FileStoreOptions) {
    this.root = join(resolve(options.root), 'continuity')
    this.witnessRoot = resolve(options.witness)
    const { port } = options
    this.refusals = new RefusalFiles({ port, path: join(this.root, 'refusals') })
  }

  async identify(): Promise<StoreIdentity> {
    const { port } = this.options
    return onMedium('reading which store this is', async () => {
      // The witness first: a store that is made meanwhile is never taken for a lost one.
      await this.refuseNested()
      const witnessed = await this.idCell(this.witnessRoot).read()
      const own = await this.idCell(this.root).read()
      const scopes = await namesIn(port, join(this.root, 'scopes'))
      const ids = [own, witnessed].map(storedIdIn)
      const [storeId, witnessedId] = ids.map(idOf)
      return {
        ...{ storeId, witnessedId, isEmpty: scopes.length === 0 },
        ...(ids.includes(null) && { isDamaged: true }),
        ...([own, witnessed].some(hasStrays) && { hasStrays: true }),
      }
    })
  }

  /** The store's own mark first: a witness without a store would be a lost one. */
  async establish(storeId: string | undefined): Promise<string> {
    const { port } = this.options
    return onMedium('making a store', async () => {
      await this.refuseNested()
      await ensureRoot(port, this.root)
      await ensureRoot(port, this.witnessRoot)
      // Complete before it is marked as one: a store that is known is never half a store.
      await ensureFolder(port, join(this.root, 'scopes'), this.root)
      await ensureFolder(port, join(this.witnessRoot, 'scopes'), this.witnessRoot)
      const isGiven = storeId !== undefined
      const id = await this.mark(this.idCell(this.root), storeId ?? port.random(16), { isGiven })
      const witnessed = await this.mark(this.idCell(this.witnessRoot), id, { isGiven })
      if (witnessed !== id) throw refusal('other-store', 'the witness is of another store')
      return id
    })
  }

  state({ storeId, scope, key }: ScopePlace & { readonly key: string }): Cell {
    const folder = join(this.root, 'scopes', scopeName(scope))
    const name = JSON.stringify(['state', scope, key])
    return this.cell({ storeId, name, path: join(folder, `state-${key}`), above: dirname(folder) })
  }

  witness({ storeId, scope }: ScopePlace): Cell {
    const scopes = join(this.witnessRoot, 'scopes')
    const name = JSON.stringify(['witness', scope])
    return this.cell({ storeId, name, path: join(scopes, scopeName(scope)), above: scopes })
  }

  audit({ scope }: ScopePlace): FileAuditShelf {
    const { port, auditSizeBytesMax } = this.options
    const scopes = join(this.root, 'scopes')
    const path = join(scopes, scopeName(scope), 'audit')
    return new FileAuditShelf({ port, path, above: scopes, sizeBytesMax: auditSizeBytesMax })
  }

  close(): Promise<void> {
    return this.refusals.close()
  }

  private async idIn(cell: FileCell): Promise<StoredId> {
    return storedIdIn(await cell.read())
  }

  /**
   * The id that a cell bears from now on: another process may have been faster. Only an id that is known from
   * elsewhere is put in the place of a damaged one.
   */
  private async mark(cell: FileCell, id: string, { isGiven }: { isGiven: boolean }): Promise<string> {
    const before = await cell.read()
    const known = storedIdIn(before)
    const isOpen = known === undefined || (known === null && isGiven)
    if (isOpen && (await cell.replace({ id }, { expected: before.number })) !== undefined) return id
    const found = isOpen ? await this.idIn(cell) : known
    if (found === null) throw refusal('damaged', 'what says which store this is, is damaged')
    if (found === undefined) throw refusal('contended', 'a store is made and removed at a time')
    await cell.settle()
    return found
  }

  private idCell(folder: string): FileCell {
    const { port } = this.options
    return new FileCell({
      port,
      path: join(folder, 'store'),
      above: folder,
      name: '["store"]',
      storeId: undefined,
    })
  }

  private cell(place: { storeId: string; name: string; path: string; above: string }): Cell {
    return new OnMedium(new FileCell({ port: this.options.port, ...place }))
  }

  /** Where links lead counts: a witness inside the root goes with it. */
  private async refuseNested(): Promise<void> {
    if (this.isApart) return
    const { port } = this.options
    const root = await realpathOf(port, dirname(this.root))
    const witness = await realpathOf(port, this.witnessRoot)
    this.isApart = !isInside(witness, root) && !isInside(root, witness)
    if (this.isApart) return
    throw refusal('unavailable', 'the witness and the root lie inside one another; keep them apart')
  }
}

/** `null`: it is there, and does not prove itself. */
type StoredId = string | null | undefined

function storedIdIn(found: CellFound): StoredId {
  if (found.kind === 'missing') return undefined
  return idSchema.safeParse(found.kind === 'found' ? found.value : undefined).data?.id ?? null
}

function hasStrays(found: CellFound): boolean {
  return found.kind === 'found' && found.hasStrays === true
}

function idOf(stored: StoredId): string | undefined {
  return stored ?? undefined
}

/** A cell whose failures are ours. */
class OnMedium implements Cell {
  constructor(private readonly cell: FileCell) {}

  read(terms?: ReadTerms): ReturnType<Cell['read']> {
    return onMedium('reading a value', () => this.cell.read(terms))
  }

  replace(...terms: Parameters<Cell['replace']>): ReturnType<Cell['replace']> {
    return onMedium('writing a value', () => this.cell.replace(...terms))
  }

  settle(): Promise<void> {
    return onMedium('syncing a value', () => this.cell.settle())
  }

  provable(): Promise<readonly unknown[]> {
    return onMedium('reading values', () => this.cell.provable())
  }
}

/** Whether a path is another one, or leads into it. */
function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way === '' || (!isAbsolute(way) && way.split(/[\\/]/)[0] !== '..')
}

async function realpathOf(port: ContinuityPort, path: string): Promise<string> {
  try {
    return await port.realpath(path)
  } catch (error) {
    if (!hasReason(error, 'ENOENT') || dirname(path) === path) throw error
    return join(await realpathOf(port, dirname(path)), path.slice(dirname(path).length))
  }
}
