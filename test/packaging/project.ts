import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

type Manifest = {
  name: string
  packageManager: string
  exports: Record<string, unknown>
  devDependencies: Record<string, string>
}

const exec = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const unreachable =
  /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENOTCACHED|ERR_PNPM_META_FETCH/

/** Without a network a client shall say so soon. */
const env = {
  ...process.env,
  npm_config_fetch_retries: '1',
  npm_config_fetch_retry_mintimeout: '500',
  npm_config_fetch_retry_maxtimeout: '1000',
  npm_config_update_notifier: 'false',
}

const run = (command: string, args: readonly string[], cwd: string) => exec(command, args, { cwd, env })

const readManifest = async (folder: string): Promise<Manifest> =>
  JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))

const specifiersOf = (manifest: Manifest): string[] =>
  Object.keys(manifest.exports)
    .filter((path) => path !== './package.json')
    .map((path) => manifest.name + path.slice(1))

/** Our packages as a registry would hand them out, and projects that install them. */
export class Shelf {
  private constructor(
    private readonly folder: string,
    readonly tarballs: readonly string[],
    /** Every specifier that a package of ours exports, but for its manifest. */
    readonly specifiers: readonly string[],
  ) {}

  static async pack(): Promise<Shelf> {
    const folder = await mkdtemp(join(tmpdir(), 'tidemark-pack-'))
    const { packageManager } = await readManifest(root)
    const pack = ['-r', '--filter', './packages/*', 'pack', '--pack-destination', folder]
    await run('npx', ['--yes', packageManager, ...pack], root)
    const folders = (await readdir(join(root, 'packages'))).map((name) => join(root, 'packages', name))
    const manifests = await Promise.all(folders.map(readManifest))
    const specifiers = manifests.flatMap(specifiersOf)
    const tarballs = (await readdir(folder)).map((name) => join(folder, name))
    return new Shelf(folder, tarballs, specifiers)
  }

  /** Installs all of them together in an empty project, with the host in the version that we develop with. */
  async install(name: string, host?: string): Promise<Project> {
    const cwd = join(this.folder, name)
    await mkdir(cwd)
    await writeFile(join(cwd, 'package.json'), '{ "private": true, "type": "module" }')
    const { devDependencies } = await readManifest(root)
    const hosts = host === undefined ? [] : [`${host}@${devDependencies[host]}`]
    const quietly = ['--prefer-offline', '--no-audit', '--no-fund']
    await run('npm', ['install', ...quietly, ...this.tarballs, ...hosts], cwd)
    return new Project(cwd)
  }

  clear(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true })
  }
}

export class Project {
  constructor(private readonly cwd: string) {}

  /** Runs a module there and returns what it printed. */
  async runModule(text: string): Promise<string> {
    await writeFile(join(this.cwd, 'main.mjs'), text)
    const { stdout } = await run(process.execPath, ['main.mjs'], this.cwd)
    return stdout
  }

  /** What our compiler says of sources there; nothing, when it is content. */
  typeCheck(...texts: readonly string[]): Promise<string> {
    return this.compile(texts, false)
  }

  /** The same, but for what declaration files say of each other. */
  typeCheckBesideForeign(...texts: readonly string[]): Promise<string> {
    return this.compile(texts, true)
  }

  private async compile(texts: readonly string[], skipLibCheck: boolean): Promise<string> {
    const compilerOptions = {
      target: 'ES2023',
      // The web's `console` and `AbortSignal`: a user need not have Node's types.
      lib: ['ES2023', 'DOM'],
      module: 'ESNext',
      moduleResolution: 'bundler',
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      skipLibCheck,
    }
    const files = texts.map((_, index) => `consumer-${index}.ts`)
    for (const [index, text] of texts.entries()) await writeFile(join(this.cwd, `consumer-${index}.ts`), text)
    await writeFile(join(this.cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const printed = await run(process.execPath, [tsc, '-p', '.'], this.cwd).catch(printedBy)
    return printed.stdout
  }
}

/** True when a command failed only because no registry answered. */
export const isUnreachable = (error: unknown) =>
  unreachable.test(String((error as { stderr?: string }).stderr))

function printedBy(error: unknown): { stdout: string } {
  if (error instanceof Error && 'stdout' in error) return { stdout: String(error.stdout) }
  throw error
}
