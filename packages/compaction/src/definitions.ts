import { isEvent, type Definitions, type Projection } from '@tidemark/session-core'
import { compaction } from './bracket.ts'
import { compactions } from './compactions.ts'
import type { FactsState } from './fact.ts'
import { pinnedMessage, unpinnedMessage } from './rendering.ts'
import { replacementOf } from './replacement.ts'
import { schemas } from './schemas.ts'

/**
 * What this package adds to the vocabulary, with the facts that the host's labels give.
 *
 * A start and a summary change nothing by themselves, so a program without this package may carry them. An end may
 * change what the model sees, and a fact always does: those it must know. A redaction sees each text where it is
 * recorded first; `facts` are copies of what it has passed, and a copy that it changed would not be verbatim.
 */
export function definitionsWith(facts: Projection<FactsState>): Definitions {
  return { ...vocabulary, projections: [facts, compactions] }
}

const startIds = ['id', 'trigger', 'range', 'tokens', 'sizeBytes']

const vocabulary: Definitions = {
  owner: '@tidemark/compaction',
  events: {
    'compact/start': { schema: schemas['compact/start'], ignorable: true, ids: startIds },
    'compact/summary': {
      schema: schemas['compact/summary'],
      ignorable: true,
      ids: ['id', 'author', 'facts'],
    },
    'compact/end': {
      schema: schemas['compact/end'],
      ids: ['id', 'outcome', 'error', 'facts', 'tokens', 'isOverContext'],
      replaces: replacementOf,
    },
    'tool/pruned': {
      schema: schemas['tool/pruned'],
      ids: ['resultSeq', 'digest', 'sizeBytes'],
      amends: (event) => (isEvent(event, 'tool/pruned') ? event.data : undefined),
    },
    'fact/pinned': {
      schema: schemas['fact/pinned'],
      ids: ['key', 'digest', 'sourceSeq', 'by'],
      message: (event) => (isEvent(event, 'fact/pinned') ? pinnedMessage(event.data) : undefined),
    },
    'fact/unpinned': {
      schema: schemas['fact/unpinned'],
      ids: ['key', 'by'],
      message: (event) => (isEvent(event, 'fact/unpinned') ? unpinnedMessage(event.data) : undefined),
    },
  },
  brackets: [compaction],
}
