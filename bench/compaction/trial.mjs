import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isSessionError } from '@tidemark/session-core'
import { diskUse } from '../disk.mjs'
import { startHost } from './host.mjs'
import { judge } from './musts.mjs'
import { Player } from './player.mjs'
import { recallAll, survivalOf } from './survival.mjs'
import { tokensOf } from './tokens.mjs'
import { findBlock } from './view.mjs'

const pruneAbove = { resultSizeBytesMax: 2_048, keepLast: 0 }

/**
 * One transcript under one summarizer: a script is played, and compacted after each of its rounds. `facts`: the ones
 * whose survival is measured after the rounds that are `marks`.
 */
export class Trial {
  constructor({ script, facts, summarizer, marks, settings, folder }) {
    Object.assign(this, { script, facts, summarizer, marks, settings, folder })
    /** UTF-8 bytes of each event as JSON. */
    this.sizes = []
  }

  async run() {
    const ctx = await startHost({ root: this.folder, settings: this.settings })
    try {
      this.ctx = ctx
      this.session = await ctx.sessionPersistence.create({ id: 'trial' })
      this.player = new Player(ctx, this.session)
      const rounds = []
      for (const [index, actions] of this.script.entries()) {
        this.player.play(actions)
        rounds.push(await this.round(index + 1))
      }
      return { rounds, cold: await this.judgeCold(rounds.at(-1)) }
    } finally {
      await ctx.fiber.dispose()
      await rm(this.folder, { recursive: true, force: true })
    }
  }

  async round(compactions) {
    const { ctx, session } = this
    await this.weigh()
    const before = this.look(session)
    const { result, millis } = await this.compact()
    const isApplied = result.outcome === 'applied'
    const added = await this.weigh()
    const after = this.lookAndCount(session)
    const { contextTokensMax } = this.settings
    const expected = this.player.expected.values()
    const verdict = judge({ before, after, expected, isApplied, contextTokensMax })
    const round = { compactions, ...said(result), millis, verdict, tokens: after.tokens, isApplied }
    if (isApplied)
      Object.assign(round, { added, pins: this.weighPins(after), shadowed: this.shadowed(result) })
    if (isApplied) this.lastId = result.id
    if (!this.marks.includes(compactions)) return round
    const recalled = this.lastId === undefined ? '' : await recallAll(ctx, session, this.lastId)
    return { ...round, survival: survivalOf(this.facts, after.messages, recalled) }
  }

  /** As a host does: where the newest messages alone are too large, results of tools are shortened first. */
  async compact() {
    const first = await this.attempt()
    if (first.result.reason !== 'too-large-to-retain') return first
    await this.ctx.compaction.prune(this.session, pruneAbove)
    await this.weigh() // what pruning adds is not the compaction's
    return this.attempt()
  }

  async attempt() {
    const { ctx, session, summarizer } = this
    const from = performance.now()
    const resultOf = (result) => ({ result, millis: performance.now() - from })
    try {
      return resultOf(await ctx.compaction.compact(session, { summarizer }))
    } catch (error) {
      if (!isSessionError(error)) throw error
      return resultOf({ outcome: 'refused', error })
    }
  }

  look(session) {
    const messages = session.messages()
    return { messages, facts: this.ctx.compaction.facts(session) }
  }

  /** Never before a compaction: what was counted once is known, and the compaction would not have to count it. */
  lookAndCount(session) {
    const seen = this.look(session)
    return { ...seen, tokens: tokensOf(seen.messages) }
  }

  weighPins({ messages, facts }) {
    const block = facts.length > 0 ? findBlock(messages) : undefined
    return { count: facts.length, tokens: block ? tokensOf([block]) : 0 }
  }

  /** What the log has taken since the last time: as JSON, and as bytes on the disk. */
  async weigh() {
    const { session, sizes } = this
    await this.ctx.sessions.flush(session)
    const { sizeBytes } = await diskUse(join(this.folder, 'sessions'))
    const onDisk = sizeBytes - (this.sizeBytes ?? 0)
    this.sizeBytes = sizeBytes
    let json = 0
    for (const event of session.log.range(sizes.length)) {
      sizes.push(Buffer.byteLength(JSON.stringify(event)))
      json += sizes.at(-1)
    }
    return { json, onDisk }
  }

  shadowed({ range: { from, through } }) {
    return this.sizes.slice(from, through + 1).reduce((sum, size) => sum + size, 0)
  }

  /** The same session, read from the disk after its end. */
  async judgeCold({ isApplied }) {
    const { ctx, session } = this
    const before = this.look(session)
    await ctx.sessions.dispose(session)
    const after = this.lookAndCount(await ctx.sessionPersistence.inspect('trial'))
    const expected = this.player.expected.values()
    return judge({ before, after, expected, isApplied, contextTokensMax: this.settings.contextTokensMax })
  }
}

function said({ outcome, reason, error }) {
  return { outcome, why: reason ?? error?.code }
}
