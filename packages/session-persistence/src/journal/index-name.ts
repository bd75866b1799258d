import { dirname, join } from 'node:path'
import { sha256 } from '../digest.ts'
import type { Store } from './store.ts'

/**
 * What a name in the index's folder says.
 * `list`: lines of many sessions; the highest number counts. `mark`: a session that somebody may have changed since its
 * line was made. `line`: one session, newer than its line in the list.
 */
export type IndexName =
  | { readonly kind: 'list'; readonly name: string; readonly number: number }
  | { readonly kind: 'mark' | 'line'; readonly name: string; readonly folder: string; readonly epoch: number }
  | { readonly kind: 'foreign'; readonly name: string }

export type EntryName = Extract<IndexName, { kind: 'mark' | 'line' }>

export function indexPath({ sessionsPath }: Store): string {
  return join(dirname(sessionsPath), 'index')
}

/** The highest number that a list's name can hold. */
const listNumberMax = 999_999_999_999_999

/**
 * The number of the next list: higher than any, but where one that is broken has the highest that there is, only higher
 * than that of the last whole one. `undefined` when that has it.
 */
export function nextListNumber(wholeNumber: number, lastNumber: number): number | undefined {
  const number = lastNumber < listNumberMax ? lastNumber + 1 : wholeNumber + 1
  return number <= listNumberMax ? number : undefined
}

export function listName(number: number): string {
  return `list-${String(number).padStart(6, '0')}`
}

/** `tag` keeps apart what others write of the same session. Epoch 0: whoever made it is no lease. */
export function markName(folder: string, epoch: number, tag: string): string {
  return `${folder}.${String(epoch).padStart(6, '0')}.${tag}`
}

export function lineName(folder: string, epoch: number, tag: string): string {
  return `${markName(folder, epoch, tag)}.line`
}

/** Of what makes a mark: the same for nobody else. */
export function tagOf(text: string): string {
  return sha256(text).slice(0, 12)
}

export function parseIndexName(name: string): IndexName {
  const list = /^list-(\d{6,15})$/.exec(name)
  if (list) return { kind: 'list', name, number: Number(list[1]) }
  const entry = /^([sh]-[-a-z0-9_=]+)\.(\d{6,15})\.[0-9a-f]{12}(\.line)?$/.exec(name)
  if (entry === null) return { kind: 'foreign', name }
  const [, folder = '', epoch, line] = entry
  return { kind: line ? 'line' : 'mark', name, folder, epoch: Number(epoch) }
}

/** Those that are of single sessions. */
export function entriesIn(names: readonly IndexName[]): readonly EntryName[] {
  return names.filter((name): name is EntryName => name.kind === 'mark' || name.kind === 'line')
}
