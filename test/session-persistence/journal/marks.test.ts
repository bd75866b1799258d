import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { folderOf } from '../files.ts'
import { say, startJournal } from '../host.ts'
import { codeOf } from '../refusal.ts'
import { scratch } from '../scratch.ts'

describe('a log that is not the one it was', () => {
  it('G22: a receipt whose seq no batch ends at any more is refused', async () => {
    const root = scratch()
    const ctx = await startJournal(root)
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    say(session, 'first')
    await ctx.sessions.dispose(session)
    const old = join(scratch(), 'copy')
    cpSync(root, old, { recursive: true })
    const resumed = await ctx.sessionPersistence.resume('a')
    say(resumed, 'second')
    const receipt = await resumed.flush()
    await ctx.sessions.dispose(resumed)
    rmSync(folderOf(root, 'a'), { recursive: true })
    cpSync(folderOf(old, 'a'), folderOf(root, 'a'), { recursive: true })

    const again = await ctx.sessionPersistence.resume('a', { force: true })
    for (const text of ['other', 'history', 'in one batch']) say(again, text)
    await again.flush()
    await ctx.sessions.dispose(again)
    expect(again.durableSeq).toBeGreaterThan(receipt.durableSeq)
    expect(await codeOf(() => ctx.sessionPersistence.inspect('a', { receipt }))).toBe('CORRUPT')
    expect(await codeOf(() => ctx.sessionPersistence.resume('a', { receipt }))).toBe('CORRUPT')
  })

  it('a name of the last epoch there can be is refused, and nothing is acknowledged after it', async () => {
    const root = scratch()
    const ctx = await startJournal(root)
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    say(session, 'first')
    await ctx.sessions.dispose(session)
    writeFileSync(join(folderOf(root, 'a'), 'head-999999999999999'), '', { mode: 0o600 })
    expect(await codeOf(() => ctx.sessionPersistence.resume('a'))).toBe('CORRUPT')
  })
})
