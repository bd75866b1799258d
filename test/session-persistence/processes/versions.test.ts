import { spawnSync } from 'node:child_process'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findLtsNode } from '../../../scripts/lts.mjs'
import { examine, nothingWrong } from './examine.ts'
import { told } from './line.ts'
import { childTestMs, hasAcknowledged, isAnswered, Nursery } from './nursery.ts'
import { skipAloud } from './skip.ts'

const here = process.execPath
const other = process.env.TIDEMARK_OTHER_NODE ?? findLtsNode() ?? here
const versionOf = (node: string): string => String(spawnSync(node, ['--version']).stdout).trim()

let nursery: Nursery

beforeEach(async () => {
  nursery = new Nursery()
  await nursery.prepare()
})
afterEach(() => nursery.killAll())

describe('a session that two versions of Node use', { timeout: childTestMs }, () => {
  it.for([
    [versionOf(here), here, other],
    [versionOf(other), other, here],
  ] as const)('is held by Node %s, and the other one goes on with it', async ([, node, later], context) => {
    if (versionOf(here) === versionOf(other)) skipAloud(context, 'no other version of Node is installed')
    const holder = await nursery.spawn('holder', {}, { node })
    holder.go()
    await holder.until(hasAcknowledged(3))
    const claimant = await nursery.spawn('claimant', {}, { node: later })
    claimant.go()
    await claimant.until(isAnswered)
    expect(told(claimant.lines, 'resumed')).toEqual([])
    expect(told(claimant.lines, 'refused')).toEqual([
      { told: 'refused', code: 'LOCKED', holder: holder.identity },
    ])
    await holder.kill()
    const next = await nursery.spawn('next', {}, { node: later })
    next.go()
    await next.until(hasAcknowledged(3))
    await next.kill()
    expect(await examine(nursery.root, nursery.lines)).toMatchObject(nothingWrong)
  })
})
