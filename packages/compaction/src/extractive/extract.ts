/** What was found worth quoting, one line an item, oldest first. */
export interface Extract {
  first: string[]
  requests: string[]
  conclusions: string[]
  /** What an earlier summary of another make said. */
  earlier: string[]
  files: string[]
  tools: string[]
}

export function emptyExtract(): Extract {
  return { first: [], requests: [], conclusions: [], earlier: [], files: [], tools: [] }
}
