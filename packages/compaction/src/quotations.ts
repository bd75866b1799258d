import { Blocks } from './block.ts'
import { TagEnds, type Enclosure } from './enclosure.ts'
import { Passage, type PassageLine, type Place } from './passage.ts'
import { endedQuotation } from './quotation.ts'

/** A line, or what stands on it behind the end of an enclosure. */
interface Rest {
  readonly line: string
  readonly at: number
  readonly place: Place
}

/**
 * What is quoted in a text, told line by line. Where CommonMark says what a line is, it is that; what it does not know,
 * such as tags that wrap a file, or knows to end with a paragraph, such as most tags, is quoted through its own end, and
 * where that is missing, through the end of the text.
 */
export class Quotations {
  private readonly tagEnds: TagEnds
  private blocks = new Blocks()
  /** Lines of a paragraph that may go on: code in it is code only where it ends in it. */
  private passage: PassageLine[] = []
  private enclosure: Enclosure | undefined

  constructor(text: string) {
    this.tagEnds = new TagEnds(text)
  }

  /** Where the line stands; known for certain after `finish`. */
  take(line: string, at: number): Place {
    const place: Place = {}
    this.read({ line, at, place })
    return place
  }

  finish(): void {
    this.endPassage()
  }

  private read({ line, at, place }: Rest): void {
    if (this.enclosure) return this.readEnclosed({ line, at, place })
    const block = this.blocks.take(line)
    if (block.kind !== 'goes-on' && block.kind !== 'lazy') {
      this.endPassage()
      if (this.enclosure) {
        this.blocks = new Blocks()
        return this.read({ line, at, place })
      }
    }
    if (block.kind === 'marked') return
    if (block.kind === 'fenced') {
      place.within ??= block.fence
      return
    }
    if (block.kind === 'lazy') place.within ??= endedQuotation
    const { content } = block
    this.passage.push({ content, at: at + line.length - content.length, place })
  }

  private readEnclosed({ line, at, place }: Rest): void {
    const { enclosure } = this
    if (enclosure === undefined) return
    place.within ??= enclosure
    const end = enclosure.findEnd(line, 0)
    if (end === undefined) return
    this.enclosure = undefined
    const rest = line.slice(end)
    if (rest.trim() !== '') this.read({ line: rest, at: at + end, place })
  }

  private endPassage(): void {
    if (this.passage.length === 0) return
    this.enclosure = new Passage(this.passage, this.tagEnds).read()
    this.passage = []
  }
}
