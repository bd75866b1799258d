const codes = { green: 32, red: 31, yellow: 33, blue: 36, bold: 1, dim: 2 } as const

export type Paint = (colour: keyof typeof codes, text: string) => string

/** Colour for a person at a terminal, and plain text for everything else. */
export function paintFor(stream: { readonly isTTY?: boolean | undefined }, env: NodeJS.ProcessEnv): Paint {
  const isPlain = stream.isTTY !== true || (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb'
  return (colour, text) => (isPlain ? text : `\u001b[${codes[colour]}m${text}\u001b[0m`)
}
