/** A user message as it was appended: its text is derived, so that a large one is told in a short line. */
export interface Written {
  readonly seq: number
  /** No other message of the same story has it. */
  readonly label: string
  /** Characters of the text. */
  readonly length: number
}

/** An event as a follower was given it. */
export interface Followed {
  readonly seq: number
  readonly type: string
  readonly text?: string
}

export interface Identity {
  readonly pid: number
  readonly host: string
  /** Milliseconds since the epoch. */
  readonly startedAt: number
}

/**
 * What a child says, one line of JSON each. `beginning` and `writing` come before the call, `begun` and
 * `acknowledged` after it resolved: between the two, either outcome is right.
 */
export type Line =
  | ({ readonly told: 'ready' } & Identity)
  | { readonly told: 'resumed'; readonly id: string; readonly length: number }
  | {
      readonly told: 'beginning'
      readonly id: string
      readonly parent?: { readonly id: string; readonly through: number }
    }
  | { readonly told: 'begun'; readonly id: string }
  | { readonly told: 'writing'; readonly id: string; readonly events: readonly Written[] }
  | { readonly told: 'acknowledged'; readonly id: string; readonly events: readonly Written[] }
  | { readonly told: 'refused'; readonly code: string; readonly holder?: Identity }
  | { readonly told: 'followed'; readonly id: string; readonly events: readonly Followed[] }
  /** What was followed after a seq does not count: it is given again, if it is there. */
  | { readonly told: 'dropped'; readonly id: string; readonly after: number }
  | { readonly told: 'over' }

export type Told<K extends Line['told']> = Extract<Line, { told: K }>

/** The lines of one kind. */
export function told<K extends Line['told']>(lines: readonly Line[], kind: K): Told<K>[] {
  return lines.filter((line): line is Told<K> => line.told === kind)
}

export function textOf({ label, length }: Omit<Written, 'seq'>): string {
  return label.padEnd(length, `-${label}`)
}
