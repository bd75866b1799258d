/** UTF-16 code units of a quoted line. */
const lineLengthMax = 240
const fileNameLengthMax = 160

const lineEnd = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/
// Each is matched against one token of bounded length, so that foreign text cannot make it slow.
const token = /[^\s"'`()<>[\]{},;|=\\]+/g
const path = /^(?:~|\.{1,2})?\/?(?:[\p{L}\p{N}_.@+-]+\/)+[\p{L}\p{N}_.@+-]+$/u
const fileName = /^[\p{L}\p{N}_@+-][\p{L}\p{N}_.@+-]*\.[a-z][a-z0-9]{0,7}$/iu

export function firstLines(text: string, count: number): string[] {
  return linesOf(text).slice(0, count).map(shortened)
}

export function lastLines(text: string, count: number): string[] {
  return linesOf(text).slice(-count).map(shortened)
}

/** As one line, since an extract is read back line by line: what is foreign must not begin one. */
export function oneLine(text: string): string {
  return shortened(linesOf(text).join(' '))
}

/** What looks like a path or a file name, in the order of the text. */
export function fileNames(text: string): string[] {
  const names: string[] = []
  for (const [found] of text.matchAll(token)) {
    if (found.length > fileNameLengthMax) continue
    const name = found.replace(/[.:!?]+$/, '')
    if (fileName.test(name) || (path.test(name) && /\.|\/.*\//.test(name))) names.push(name)
  }
  return names
}

function linesOf(text: string): string[] {
  return text
    .split(lineEnd)
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

/** Cut so that no surrogate pair is split. */
function shortened(line: string): string {
  if (line.length <= lineLengthMax) return line
  const end = /[\ud800-\udbff]/.test(line.charAt(lineLengthMax - 2)) ? lineLengthMax - 2 : lineLengthMax - 1
  return `${line.slice(0, end)}…`
}
