/** What a name in a session's folder says. `through` is the highest epoch that it uses up. */
export type JournalName =
  | { readonly kind: 'segment'; readonly name: string; readonly epoch: number; readonly rotation: number }
  | { readonly kind: 'pack'; readonly name: string; readonly through: number }
  | { readonly kind: 'derived'; readonly name: string; readonly through: number }
  | { readonly kind: 'foreign'; readonly name: string }

export type SegmentName = Extract<JournalName, { kind: 'segment' }>

export function segmentName(epoch: number, rotation = 0): SegmentName {
  const name = `${String(epoch).padStart(6, '0')}-${String(rotation).padStart(3, '0')}.jsonl`
  return { kind: 'segment', name, epoch, rotation }
}

/** A folder is listed again and again, so its names are remembered. */
const known = new Map<string, JournalName>()
const knownMax = 1_024

export function parseName(name: string): JournalName {
  const before = known.get(name)
  if (before) return before
  if (known.size >= knownMax) known.clear()
  const parsed = parse(name)
  known.set(name, parsed)
  return parsed
}

function parse(name: string): JournalName {
  const segment = /^(\d{6,15})-(\d{3,9})\.jsonl$/.exec(name)
  if (segment) {
    const parsed = segmentName(Number(segment[1]), Number(segment[2]))
    return parsed.name === name ? parsed : { kind: 'foreign', name }
  }
  const pack = /^c-\d{6,15}-\d{3,9}-(\d{6,15})-\d{3,9}\.jsonl\.br$/.exec(name)
  if (pack) return { kind: 'pack', name, through: Number(pack[1]) }
  // Names that later versions write still tell which epochs are spent.
  const derived = /^(?:c-\d{6,15}-(\d{6,15})\.jsonl(?:\.\w+)?|head-(\d{6,15}))$/.exec(name)
  if (derived) return { kind: 'derived', name, through: Number(derived[1] ?? derived[2]) }
  return { kind: 'foreign', name }
}

/** What holds the segments from one to another. */
export function packName(first: string, last: string): string {
  return `c-${stemOf(first)}-${stemOf(last)}.jsonl.br`
}

function stemOf(segment: string): string {
  return segment.replace(/\.jsonl$/, '')
}

/** The packs among the names. */
export function packsIn(names: readonly string[]): Extract<JournalName, { kind: 'pack' }>[] {
  return names.map(parseName).filter((name) => name.kind === 'pack')
}

/** The segments among the names, newest first. */
export function segmentsIn(names: readonly string[]): SegmentName[] {
  const segments = names.map(parseName).filter((name) => name.kind === 'segment')
  return segments.sort((a, b) => b.epoch - a.epoch || b.rotation - a.rotation)
}

/** The epochs that have a durable head, newest first. */
export function epochsOfHeads(names: readonly string[]): number[] {
  const epochs = names.filter((name) => name.startsWith('head-')).map((name) => epochOf(parseName(name)))
  return epochs.sort((a, b) => b - a)
}

/** The highest epoch that any name uses, 0 when none does. */
export function highestEpoch(names: readonly string[]): number {
  return names.reduce((highest, name) => Math.max(highest, epochOf(parseName(name))), 0)
}

function epochOf(name: JournalName): number {
  switch (name.kind) {
    case 'segment':
      return name.epoch
    case 'pack':
    case 'derived':
      return name.through
    case 'foreign':
      return 0
  }
}
