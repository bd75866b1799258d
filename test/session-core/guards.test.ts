import type { Session } from '@tidemark/session-core'
import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { define, startHost } from './host.ts'
import { codeOf, refusalOf } from './refusal.ts'
import type { Context } from 'cordis'

let ctx: Context
let session: Session

beforeEach(async () => {
  ctx = await startHost()
  session = ctx.sessions.create()
})

class Chunk {
  kind = 'text'
  text = 'a'
}

const plain = (): Record<string, unknown> => ({ kind: 'text', text: 'a' })
const getter = (key: string): object =>
  Object.defineProperty(plain(), key, { get: () => 'text', enumerable: true })

const hostile: Readonly<Record<string, unknown>> = {
  proxy: new Proxy(plain(), {}),
  'getter of a known field': getter('text'),
  'getter of an unknown field': getter('extra'),
  instance: new Chunk(),
  'prototype of its own': Object.setPrototypeOf(plain(), { extra: 1 }),
  'no prototype': Object.setPrototypeOf(plain(), null),
  'symbol key': { ...plain(), [Symbol('a')]: 1 },
  'hidden symbol key': Object.defineProperty(plain(), Symbol('a'), { value: 1, enumerable: false }),
  'hidden field': Object.defineProperty(plain(), 'text', { enumerable: false }),
  'hidden unknown field': Object.defineProperty(plain(), 'extra', { value: 1, enumerable: false }),
  'undefined field': { ...plain(), meta: undefined },
  'boxed text': { kind: 'text', text: Object('a') as unknown },
  'proxy inside': { ...plain(), meta: new Proxy({}, {}) },
  'instance inside': { ...plain(), meta: { at: new Date(0) } },
  'symbol key inside': { ...plain(), meta: { [Symbol('a')]: 1 } },
  'hole inside': { ...plain(), meta: { list: [, 1] } },
}

describe('a chunk that looks right and is not plain', () => {
  it.each(Object.entries(hostile))('G3: is refused as a payload, and left unfrozen: %s', (_name, data) => {
    expect(codeOf(() => session.append('assistant/chunk', data as never))).toBe('INVALID_PAYLOAD')
    expect(session.log.length).toBe(0)
    expect(Object.isFrozen(data)).toBe(false)
  })

  it('runs none of its own code', () => {
    let ran = 0
    const spy = Object.defineProperty(plain(), 'text', { get: () => ((ran += 1), 'a'), enumerable: true })
    expect(codeOf(() => session.append('assistant/chunk', spy as never))).toBe('INVALID_PAYLOAD')
    expect(ran).toBe(0)
  })
})

const misfits: Readonly<Record<string, { data: unknown; path: string }>> = {
  'a field too many': { data: { ...plain(), extra: 1 }, path: 'data' },
  '__proto__ as a field': { data: JSON.parse('{"kind":"text","text":"a","__proto__":{}}'), path: 'data' },
  'a field too few': { data: { kind: 'text' }, path: 'data.text' },
  'another kind': { data: { kind: 'other', text: 'a' }, path: 'data.kind' },
  'meta that is no object': { data: { ...plain(), meta: [] }, path: 'data.meta' },
}

describe('a plain chunk that does not fit', () => {
  it.each(Object.entries(misfits))('is refused by its schema, with the path: %s', (_name, { data, path }) => {
    const { code, details } = refusalOf(() => session.append('assistant/chunk', data as never))
    expect({ code, ...details }).toEqual({ code: 'INVALID_EVENT', type: 'assistant/chunk', seq: 0, path })
  })
})

describe('a definition that takes the place of one of core', () => {
  it('is asked for what core would accept', async () => {
    const owner = '@tidemark/session-core'
    const refusing = { schema: z.strictObject({ kind: z.literal('call'), text: z.string() }) }
    const fiber = await define(ctx, { owner, events: { 'assistant/chunk': refusing } })
    const append = (): unknown => session.append('assistant/chunk', { kind: 'text', text: 'a' })
    expect(codeOf(append)).toBe('INVALID_EVENT')
    await fiber.dispose()
    expect(append()).toMatchObject({ seq: 0, ignorable: true })
  })
})
