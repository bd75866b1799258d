import { anonymous } from '@tidemark/session-continuity'
import { describe, expect, it } from 'vitest'
import type { rules } from './source.ts'
import { World, everything, isNoticed, reasonFor, refusalOf, trusting, type ProcessOptions } from './world.ts'

const configured: ProcessOptions = { config: { authenticators: [trusting, anonymous(() => 5_000)] } }
const open = (options: ProcessOptions, credential?: unknown) => {
  const process = new World().start(options)
  return process.continuity.open({ mode: 'begin', credential, scope: 'open' })
}

describe('anonymous', () => {
  it('with an explicitly configured mechanism, and a grant, nobody in particular is let in', async () => {
    const handle = await open(configured)
    expect(handle.principal).toEqual({
      id: 'anonymous:anyone',
      kind: 'service',
      assurance: 0,
      authenticatedAt: 5_000,
    })
    expect((await open(configured, { mechanism: 'anonymous' })).isOpen).toBe(true)
  })

  const refusesNobody = async (options: ProcessOptions = {}): Promise<void> => {
    for (const credential of [undefined, { mechanism: 'anonymous' }])
      expect(await refusalOf(() => open(options, credential))).toMatchObject({
        code: 'DENIED',
        reason: 'anonymous',
        details: { mechanism: 'anonymous' },
      })
  }

  it('without one the refusal names the mechanism that is missing', () => refusesNobody())

  it('without the rule that a mechanism is configured, it is seen', async () => {
    const authenticatorFor: typeof rules.authenticatorFor = (mechanisms, mechanism) =>
      mechanisms.get(mechanism) ?? anonymous(() => 5_000)
    expect(await isNoticed(() => refusesNobody({ rules: { authenticatorFor } }))).toBe(true)
  })

  it('with a mechanism that lets everybody in the refusal is seen to be missing', async () => {
    expect(await isNoticed(() => refusesNobody(configured))).toBe(true)
  })

  it('the mechanism alone grants nothing', async () => {
    const onlyNamed: ProcessOptions = {
      ...configured,
      grants: (question) => (question.principal.id === 'anonymous:anyone' ? undefined : everything(question)),
    }
    expect(await reasonFor(() => open(onlyNamed))).toBe('no-grant')
  })

  it.each([
    ['null', null],
    ['a text', 'alice'],
    ['an unknown mechanism', { mechanism: 'magic', token: 'x' }],
    ['a token that is no text', { mechanism: 'test', token: 7 }],
    ['a token of 16,385 characters', { mechanism: 'test', token: 'x'.repeat(16_385) }],
    ['what the mechanism cannot read', { mechanism: 'test', token: '{' }],
    ['what is no principal', { mechanism: 'test', token: '{"id":"","kind":"human"}' }],
  ])('%s is no credential, and is told from none', async (_, credential) => {
    expect(await refusalOf(() => open(configured, credential))).toMatchObject({
      code: 'DENIED',
      reason: 'bad-credential',
    })
  })

  it('no refusal holds the credential', async () => {
    const refusal = await refusalOf(() => open({}, { mechanism: 'test', token: 'a-secret-word' }))
    expect(JSON.stringify(refusal)).not.toContain('a-secret-word')
  })
})
