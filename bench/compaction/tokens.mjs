import { messagesTokens, o200k } from '@tidemark/compaction'

export const tokensOf = (messages) => messagesTokens(messages, o200k)
