import { tagName } from './html.ts'
import type { Quotation } from './quotation.ts'

/**
 * A quotation between two marks, over as many lines as there are: of a tag, a comment, or three quotation marks. What is
 * in it is not read, but for its end, and for tags of its name, each of which needs an end of its own.
 */
export class Enclosure implements Quotation {
  readonly kind = 'other'
  private depth = 1

  private constructor(private readonly marks: RegExp) {}

  static ofTag(name: string): Enclosure {
    const escaped = name.replaceAll('.', '\\.')
    return new Enclosure(new RegExp(`(</${escaped}\\s*>)|<${escaped}(?=[\\s/>]|$)(?:[^<>]*>)?`, 'gi'))
  }

  static of(mark: '"""' | "'''" | '<!--'): Enclosure {
    return new Enclosure(new RegExp(`(${mark === '<!--' ? '-->' : mark})`, 'g'))
  }

  get isEnded(): boolean {
    return this.depth === 0
  }

  /** Where it ends in the text from `from` on; `undefined` where it does not. */
  findEnd(text: string, from: number): number | undefined {
    const { marks } = this
    marks.lastIndex = from
    for (let found = marks.exec(text); found !== null; found = marks.exec(text)) {
      if (found[1] === undefined) this.depth += found[0].endsWith('/>') ? 0 : 1
      else this.depth -= 1
      if (this.depth === 0) return marks.lastIndex
    }
    return undefined
  }
}

/** Where tags end in a text, by name. */
export class TagEnds {
  private last: ReadonlyMap<string, number> | undefined

  constructor(private readonly text: string) {}

  isBehind(name: string, at: number): boolean {
    this.last ??= this.find()
    return (this.last.get(name.toLowerCase()) ?? -1) > at
  }

  private find(): ReadonlyMap<string, number> {
    const last = new Map<string, number>()
    for (const { 1: name = '', index } of this.text.matchAll(new RegExp(`</(${tagName})\\s*>`, 'g'))) {
      last.set(name.toLowerCase(), index)
    }
    return last
  }
}
