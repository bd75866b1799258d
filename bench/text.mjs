import { Random } from './random.mjs'

const sizeBytes = 2 ** 21
const letters = 'etaoinshrdlucmfwypvbgkjqxz'

/** A body of text to cut pieces from: it compresses about as real text does. */
class Text {
  constructor(random, compose) {
    this.bytes = Buffer.alloc(sizeBytes)
    for (let offset = 0; offset < sizeBytes;) offset += this.bytes.latin1Write(compose(random), offset)
  }

  /** A piece that shares no memory with its neighbours. */
  cut(offset, length) {
    return this.bytes.latin1Slice(offset, offset + length)
  }

  offset(random, length) {
    return random.between(0, sizeBytes - length)
  }

  take(random, length) {
    return this.cut(this.offset(random, length), length)
  }
}

function makeWords(random, count) {
  return Array.from({ length: count }, () => {
    const length = 2 + Math.floor(8 * random.next() ** 1.5)
    return Array.from({ length }, () => random.pick(letters, 1.8)).join('')
  })
}

/** What people and models write. */
export function prose() {
  const random = new Random(11)
  const words = makeWords(random, 2_500)
  const marks = [' ', ' ', ' ', ' ', ' ', ' ', ' ', ' ', ', ', '. ', ': ', '.\n']
  return new Text(random, () => {
    const word = random.pick(words, 2.6)
    return (random.next() < 0.012 ? `\`${word}()\`` : word) + random.pick(marks)
  })
}

/** What tools print: sources, listings, logs, errors, JSON. */
export function output() {
  const random = new Random(12)
  const words = makeWords(random, 700)
  const word = () => random.pick(words, 2.2)
  const number = (max) => random.between(0, max)
  const lines = [
    () => `${' '.repeat(2 * number(4))}const ${word()} = ${word()}.${word()}('${word()}', ${number(999)})\n`,
    () => `${' '.repeat(2 * number(4))}if (${word()} !== undefined) return "${word()} ${word()}"\n`,
    () => `-rw-r--r-- 1 ci ci ${number(90_000)} src/${word()}/${word()}.ts\n`,
    () =>
      `2026-03-${10 + number(19)}T0${number(9)}:${10 + number(49)} INFO ${word()}: ${word()} in ${number(800)} ms\n`,
    () =>
      `src/${word()}.ts(${number(900)},${number(80)}): error TS2${number(899)}: no '${word()}' on "${word()}"\n`,
    () => `{"${word()}":"${word()}\\\\${word()}","${word()}":${number(99_999)},"ok":${number(1) === 0}}\n`,
  ]
  return new Text(random, () => random.pick(lines)())
}
