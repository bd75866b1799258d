/** A table in markdown. */
export function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

export const count = (value) => Math.round(value).toLocaleString('en')

export function millis(value) {
  return String(Number(value.toPrecision(value >= 100 ? 3 : 2)))
}

export const percent = (share) => `${Math.round(share * 100)} %`
