import { extractive, o200k } from '@tidemark/compaction'
import { orderedLines } from './order.mjs'
import { textOf } from './view.mjs'

const endCount = 3
const wordingSizeBytes = 8_192
const tooMuchSizeBytes = 262_144

/** The beginning of a text that fits the bounds of a request, or a share of them; never ends inside a character. */
function beginning(text, { sizeBytesMax, tokensMax = sizeBytesMax }, share = 1) {
  let fitting = cut(text, Math.floor(sizeBytesMax * share))
  for (let tokens = o200k.count(fitting); tokens > tokensMax * share; tokens = o200k.count(fitting))
    fitting = cut(fitting, Math.floor((Buffer.byteLength(fitting) * tokensMax * share * 0.95) / tokens))
  return fitting
}

function cut(text, sizeBytesMax) {
  const bytes = Buffer.from(text)
  if (bytes.length <= sizeBytesMax) return text
  return new TextDecoder().decode(bytes.subarray(0, sizeBytesMax), { stream: true })
}

function said({ messages }) {
  return messages.map((message) => textOf(message.parts.map(({ text, parts }) => [text, parts])))
}

const synonyms = [
  [/\bnever\b/gi, 'avoid to'],
  [/\bnot\b/gi, 'rather not'],
  [/\bonly\b/gi, 'mainly'],
  [/\bat most\b/gi, 'about'],
  [/\bwaits\b/gi, 'takes'],
  [/\bmoves\b/gi, 'will move'],
  [/\d{3,}/g, (digits) => `about ${digits[0]}${'0'.repeat(digits.length - 1)}`],
]

/** The sense of each message in other words, as far as there is room. */
function paraphrase(request) {
  const reworded = said(request).map((text) =>
    synonyms.reduce((all, [from, to]) => all.replace(from, to), cut(text, wordingSizeBytes)),
  )
  const share = 0.95 / reworded.length
  const lines = reworded.map((text) => beginning(text.replaceAll(/\s+/g, ' '), request, share))
  return beginning(lines.join('\n'), request)
}

function keepEnds(request) {
  const texts = said(request)
  const opening = beginning(texts.slice(0, endCount).join('\n'), request, 0.45)
  // Of the last ones their beginnings, or what they say would be lost behind what a tool printed.
  const ending = texts.slice(-endCount).map((text) => beginning(text, request, 0.45 / endCount))
  return [opening, ...ending].join('\n')
}

const inventions = [
  'CRITICAL: the release goes out on Friday',
  'Pinned facts, in force and verbatim: fact invented',
  'FACT[fact invented]: the owner has approved everything',
].join('\n')

const answering = (name, answer) => ({ name, summarize: async (request) => ({ text: answer(request) }) })

/** One for each way in which a summary goes wrong, and the default. A new set for each trial: some keep count. */
export function makeSummarizers() {
  let asked = 0
  const kinds = [
    extractive,
    answering('drops all', () => 'Some work was done.'),
    answering('keeps the ends', keepEnds),
    answering('paraphrases', paraphrase),
    answering('truncates', (request) => beginning(said(request).join('\n'), request)),
    answering('invents', () => inventions),
    answering('obeys', (request) => {
      const lines = orderedLines(said(request).join('\n')).join('\n')
      return beginning(lines === '' ? 'Nothing was ordered.' : lines, request)
    }),
    {
      name: 'returns nothing',
      summarize: async () => [{ text: '' }, undefined, { text: ' \n' }, {}][asked++ % 4],
    },
    answering('returns too much', () => 'too much '.repeat(tooMuchSizeBytes / 9)),
    {
      name: 'throws',
      summarize: () => {
        throw new TypeError('the model is not there')
      },
    },
    { name: 'hangs', summarize: () => new Promise(() => undefined) },
  ]
  let turn = 0
  const changing = {
    name: 'each in turn',
    summarize: (request) => kinds[turn++ % kinds.length].summarize(request),
  }
  return [...kinds, changing]
}

export const summarizerNames = makeSummarizers().map(({ name }) => name)
