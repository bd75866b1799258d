/**
 * What is not seen, or moves what is seen: shown as an escape, so that nothing can hide in the data or look like
 * the end of a line. Joiners stay: scripts and emoji need them.
 */
const hidden = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u
const everyHidden = new RegExp(hidden, 'gu')
const shortEscapes = new Set([...'"\\\b\t\n\f\r'].map((character) => character.charCodeAt(0)))

/** JSON that holds neither line ends nor hidden characters. */
export function quote(value: unknown): string {
  return JSON.stringify(value).replace(everyHidden, (character) =>
    Array.from({ length: character.length }, (_, unit) => escapeOf(character.charCodeAt(unit))).join(''),
  )
}

/** How many UTF-8 bytes `quote` makes of a character inside a string. */
export function quotedSizeBytes(codePoint: number): number {
  if (shortEscapes.has(codePoint)) return 2
  if (codePoint >= 0x20 && codePoint < 0x7f) return 1
  if (hidden.test(String.fromCodePoint(codePoint))) return codePoint > 0xffff ? 12 : 6
  if (codePoint < 0x800) return 2
  return codePoint > 0xffff ? 4 : 3
}

function escapeOf(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`
}
