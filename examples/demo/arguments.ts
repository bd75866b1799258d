export const usage = `Usage: npm run demo -- [file ...] [--keep]

Records a transcript into a Tidemark session, kills the process that does it, and checks what is left.

  file      a Claude Code or pi transcript (JSON Lines); without one, the files found in ../shared/data,
            or else the sample in examples/transcripts
  --keep    keep all folders; without it, a run over ../shared/data removes those of files that passed
  --help    print this

Exit code: 0 when every check holds, 1 when one does not, 2 when the arguments or a file cannot be used.`

export type Arguments =
  | { readonly kind: 'run'; readonly files: readonly string[]; readonly keep: boolean }
  | { readonly kind: 'help' }
  | { readonly kind: 'wrong'; readonly reason: string }

export function parseArguments(words: readonly string[]): Arguments {
  const end = words.indexOf('--')
  const options = (end < 0 ? words : words.slice(0, end)).filter(
    (word) => word.startsWith('-') && word !== '-',
  )
  const unknown = options.find((option) => option !== '--keep' && option !== '--help' && option !== '-h')
  if (unknown !== undefined) return { kind: 'wrong', reason: `unknown option ${unknown}` }
  if (options.includes('--help') || options.includes('-h')) return { kind: 'help' }
  const files = words.filter(
    (word, index) => (end >= 0 && index > end) || (index !== end && !options.includes(word)),
  )
  if (files.includes('')) return { kind: 'wrong', reason: 'a file name is empty' }
  return { kind: 'run', files, keep: options.includes('--keep') }
}
