import type { Chain } from './chain.ts'

/** Chains that are remembered at the same time. */
const chainsMax = 64

/** How long, in milliseconds: the steps of one operation find the same chain. */
const knownMs = 2_000

interface Known {
  readonly chain: Chain
  readonly at: number
}

/** The chains that one storage found a moment ago: what was sealed in them is sealed still. */
export class KnownChains {
  private readonly chains = new Map<string, Known>()

  constructor(private readonly clock: { now(): number }) {}

  find(path: string): Chain | undefined {
    const known = this.chains.get(path)
    return known && Math.abs(this.clock.now() - known.at) < knownMs ? known.chain : undefined
  }

  remember(path: string, chain: Chain): void {
    this.chains.delete(path) // the newest is the last to go
    this.chains.set(path, { chain, at: this.clock.now() })
    for (const oldest of this.chains.keys()) {
      if (this.chains.size <= chainsMax) return
      this.chains.delete(oldest)
    }
  }

  forget(path: string): void {
    this.chains.delete(path)
  }
}
