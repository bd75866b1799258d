import { readClaudeCode } from './claude-code.ts'
import { readCodex } from './codex.ts'
import { detectFormat } from './format.ts'
import { readMemoryBank } from './memory-bank.ts'
import { readPi } from './pi.ts'
import type { Reading } from './reading.ts'
import { TranscriptRefused } from './refusal.ts'
import { openSource } from './source.ts'

/**
 * Reads a transcript of a kind that its content tells.
 * @throws TranscriptRefused, saying whether the file is missing, unreadable, too large, foreign or damaged.
 */
export function readTranscript(file: string): Reading {
  const source = openSource(file)
  const format = detectFormat(source)
  switch (format.kind) {
    case 'claude-code':
      return readClaudeCode(source)
    case 'codex':
      return readCodex(source)
    case 'memory-bank':
      return readMemoryBank(source)
    case 'pi':
      return readPi(source)
    case 'foreign': {
      const reason = `is ${format.what}; transcripts of Claude Code, Codex and pi are read, and memory banks`
      throw new TranscriptRefused('foreign', file, { reason })
    }
  }
}
