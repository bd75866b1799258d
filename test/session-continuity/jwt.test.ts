import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { jwt, staticTokens, tokenDigest, type JwtOptions } from '@tidemark/session-continuity'
import { SignJWT, UnsecuredJWT, exportJWK, generateKeyPair, type JWK, type JWTPayload } from 'jose'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { World, everything, reasonFor, type TestProcess } from './world.ts'

const issuer = 'https://issuer.example'
const audience = 'deploy'
const now = () => Math.floor(Date.now() / 1_000)

let keys: Awaited<ReturnType<typeof generateKeyPair>>
let others: Awaited<ReturnType<typeof generateKeyPair>>
let jwk: JWK

beforeAll(async () => {
  keys = await generateKeyPair('ES256', { extractable: true })
  others = await generateKeyPair('ES256')
  jwk = { ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'ES256' }
})

const options = (): JwtOptions => ({ issuer, audience, algorithms: ['ES256'], jwks: { keys: [jwk] } })

interface Made {
  readonly key?: CryptoKey
  readonly header?: { readonly alg?: string; readonly kid?: string }
}

type CryptoKey = typeof keys.privateKey

async function token(
  claims: Readonly<Record<string, unknown>> = {},
  { key = keys.privateKey, header = {} }: Made = {},
): Promise<string> {
  const made = {
    iss: issuer,
    aud: audience,
    sub: 'alice',
    iat: now(),
    exp: now() + 60,
    ...claims,
  } as JWTPayload
  return new SignJWT(made).setProtectedHeader({ alg: 'ES256', kid: 'one', ...header }).sign(key)
}

const authenticate = async (shown: string, more: Partial<JwtOptions> = {}) =>
  jwt({ ...options(), ...more }).authenticate(shown)

describe('the mechanism jwt', () => {
  it('vouches for a subject of its issuer: the same name of another issuer is somebody else', async () => {
    const world = new World()
    const open = async (iss: string, mode: 'begin' | 'resume') => {
      const authenticators = [jwt({ ...options(), issuer: iss })]
      const process = world.start({ grants: everything, config: { authenticators, now: Date.now } })
      const credential = { mechanism: 'jwt', token: await token({ iss }) }
      return process.continuity.open({ mode, scope: 's', credential })
    }
    const handle = await open(issuer, 'begin')
    expect(handle.principal.id).toBe(`jwt:${issuer}#alice`)
    await handle.raise('secret')
    // The host configures another issuer.
    const other = 'https://other.example'
    expect(await reasonFor(() => open(other, 'resume'))).toBe('unknown-scope')
    expect((await open(other, 'begin')).sensitivity).toBe('public')
    expect((await open(issuer, 'resume')).sensitivity).toBe('secret')
  })

  it('an issuer and a subject are never taken for others that are written together the same', async () => {
    expect(() => jwt({ ...options(), issuer: 'https://a#b' })).toThrow()
    const shown = await token({ iss: 'https://a', sub: 'b#c' })
    expect(await authenticate(shown, { issuer: 'https://a' })).toMatchObject({ id: 'https://a#b#c' })
  })

  it('a subject of 255 characters of an issuer of 200 is a principal; a longer issuer is none', async () => {
    const long = 'x'.repeat(200)
    const process = new World().start({
      config: { authenticators: [jwt({ ...options(), issuer: long })], now: Date.now },
    })
    const credential = { mechanism: 'jwt', token: await token({ iss: long, sub: 'y'.repeat(255) }) }
    const handle = await process.continuity.open({ mode: 'begin', scope: 's', credential })
    expect(handle.principal.id).toHaveLength('jwt:'.length + 456)
    expect(() => jwt({ ...options(), issuer: `${long}x` })).toThrow()
  })

  it('goes by the clock of the configuration, and by none that tells no number', async () => {
    const world = new World()
    const start = (time: number) =>
      world.start({ config: { authenticators: [jwt(options())], now: () => time } })
    const then = 1_600_000_000
    const credential = {
      mechanism: 'jwt',
      token: await token({ iat: then, nbf: then, exp: then + 60 }),
    }
    const open = (time: number) => () =>
      start(time).continuity.open({ mode: 'begin', scope: 's', credential })
    for (const time of [(then + 66) * 1_000, (then - 66) * 1_000, Number.NaN, Infinity, -Infinity, 1e300])
      expect(await reasonFor(open(time))).toBe('bad-credential')
    expect((await open((then + 30) * 1_000)()).isOpen).toBe(true)
    for (const time of [Number.NaN, Infinity, -Infinity, 1e300])
      expect(await jwt(options()).authenticate(credential.token, { now: time })).toBeUndefined()
    // By itself it goes by the system's.
    expect(await authenticate(credential.token)).toBeUndefined()
  })

  it('a token of the issuer, for the audience, in its time, vouches for its subject', async () => {
    const principal = await authenticate(await token({ iat: 1_700_000_000 }))
    expect(principal).toEqual({
      id: `${issuer}#alice`,
      kind: 'human',
      assurance: 1,
      authenticatedAt: 1_700_000_000_000,
    })
  })

  it.each<[string, () => Promise<string>]>([
    ['of another issuer', () => token({ iss: 'https://other.example' })],
    ['for another audience', () => token({ aud: 'billing' })],
    ['that has expired', () => token({ exp: now() - 10 })],
    ['without an end', () => token({ exp: undefined })],
    ['that is not valid yet', () => token({ nbf: now() + 60 })],
    ['without a subject', () => token({ sub: undefined })],
    ['without a time', () => token({ iat: undefined })],
    ['signed by another key', () => token({}, { key: others.privateKey })],
    ['of a key that nobody knows', () => token({}, { header: { kid: 'two' } })],
    [
      'without a signature',
      async () =>
        new UnsecuredJWT({ sub: 'alice' })
          .setIssuer(issuer)
          .setAudience(audience)
          .setIssuedAt()
          .setExpirationTime('1m')
          .encode(),
    ],
    [
      'signed with the public key as a secret',
      async () =>
        new SignJWT({ sub: 'alice' })
          .setProtectedHeader({ alg: 'HS256', kid: 'one' })
          .setIssuer(issuer)
          .setAudience(audience)
          .setIssuedAt()
          .setExpirationTime('1m')
          .sign(Buffer.from(JSON.stringify(jwk))),
    ],
    ['that is none', async () => 'not.a.token'],
    ['that is empty', async () => ''],
    [
      'with a changed payload',
      async () =>
        (await token()).replace(/\.[^.]+\./, `.${Buffer.from('{"sub":"root"}').toString('base64url')}.`),
    ],
  ])('a token %s vouches for nobody', async (_, made) => {
    expect(await authenticate(await made())).toBeUndefined()
  })

  it('only listed algorithms count, and no shared secret can be listed', async () => {
    expect(await authenticate(await token(), { algorithms: ['EdDSA'] })).toBeUndefined()
    expect(() => jwt({ ...options(), algorithms: ['HS256' as never] })).toThrow()
    expect(() => jwt({ ...options(), algorithms: [] })).toThrow()
  })

  it('clocks may differ by the tolerance, and not by more', async () => {
    const expired = await token({ exp: now() - 20 })
    expect(await authenticate(expired, { clockToleranceSeconds: 60 })).toBeDefined()
    expect(await authenticate(expired, { clockToleranceSeconds: 5 })).toBeUndefined()
  })

  it('an actor acts on behalf of the subject, and earlier actors are not left out', async () => {
    const shown = await token({ iat: 1_700_000_000, act: { sub: 'bot', act: { sub: 'planner' } } })
    const same = { assurance: 1, authenticatedAt: 1_700_000_000_000 }
    expect(await authenticate(shown)).toEqual({
      id: `${issuer}#bot`,
      kind: 'agent',
      ...same,
      onBehalfOf: {
        id: `${issuer}#planner`,
        kind: 'agent',
        ...same,
        onBehalfOf: { id: `${issuer}#alice`, kind: 'human', ...same },
      },
    })
    const deep = await token({ act: { sub: '1', act: { sub: '2', act: { sub: '3', act: { sub: '4' } } } } })
    expect(await authenticate(deep)).toBeUndefined()
    expect(await authenticate(await token({ act: { client: 'x' } }))).toBeUndefined()
    expect(await authenticate(await token({ act: { sub: 'bot', iss: issuer } }))).toBeDefined()
    for (const iss of ['https://other.example', '', null])
      expect(await authenticate(await token({ act: { sub: 'bot', iss } }))).toBeUndefined()
  })

  it('assurance comes from a listed acr, and the time from the claim that is named', async () => {
    const more = { assuranceByAcr: { gold: 3 }, authenticatedAtClaim: 'auth_time' } as const
    const shown = await token({ acr: 'gold', auth_time: 1_600_000_000 })
    expect(await authenticate(shown, more)).toMatchObject({
      assurance: 3,
      authenticatedAt: 1_600_000_000_000,
    })
    const other = await token({ acr: 'constructor', auth_time: 1_600_000_000 })
    expect(await authenticate(other, more)).toMatchObject({ assurance: 1 })
    expect(await authenticate(await token({ acr: 'gold' }), more)).toBeUndefined()
  })
})

describe('keys that an issuer publishes', () => {
  const servers: Server[] = []
  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections()
      server.close()
    }
  })

  /** A server on loopback; without keys it never answers. */
  async function serve(published?: readonly JWK[]): Promise<{ url: string; asked: () => number }> {
    let asked = 0
    const server = createServer((_, response) => {
      asked += 1
      if (published)
        response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: published }))
    })
    servers.push(server)
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`, asked: () => asked }
  }

  const remote = (url: string): JwtOptions => {
    const { jwks: _, ...rest } = options()
    return { ...rest, jwksUrl: url }
  }

  const started = (authenticator: JwtOptions): TestProcess =>
    new World().start({ config: { authenticators: [jwt(authenticator)], now: () => Date.now() } })

  const open = async (process: TestProcess, shown: string) =>
    process.continuity.open({ mode: 'begin', credential: { mechanism: 'jwt', token: shown }, scope: 's' })

  it('are fetched once, and let their tokens in', async () => {
    const { url, asked } = await serve([jwk])
    const process = started(remote(url))
    const handle = await open(process, await token())
    expect(handle.principal.id).toBe(`jwt:${issuer}#alice`)
    await handle.refresh({ credential: { mechanism: 'jwt', token: await token() } })
    expect(asked()).toBe(1)
  })

  it('that never come let nobody in, in bounded time, and the host hears of it', async () => {
    const { url } = await serve()
    const process = started({ ...remote(url), jwksTimeoutMs: 200 })
    expect(await reasonFor(async () => open(process, await token()))).toBe('bad-credential')
    expect(process.reported).toHaveLength(1)
  })

  it('that are others let nobody in', async () => {
    const { url } = await serve([{ ...(await exportJWK(others.publicKey)), kid: 'one', alg: 'ES256' }])
    const process = started(remote(url))
    expect(await reasonFor(async () => open(process, await token()))).toBe('bad-credential')
  })

  it('two short-lived tokens of one person are one principal; the older one is over once the newer was seen', async () => {
    const world = new World()
    const process = world.start({ config: { authenticators: [jwt(options())], now: () => Date.now() } })
    const [older, newer] = [await token({ iat: now() - 30 }), await token()]
    const shown = (made: string) => ({ mechanism: 'jwt', token: made })
    const handle = await process.continuity.open({ mode: 'begin', credential: shown(older), scope: 's' })
    await handle.raise('secret')
    const resumed = await process.continuity.open({ mode: 'resume', credential: shown(newer), scope: 's' })
    expect(resumed.sensitivity).toBe('secret')
    const late = () => process.continuity.open({ mode: 'resume', credential: shown(older), scope: 's' })
    expect(await reasonFor(late)).toBe('stale-credential')
  })
})

describe('the mechanism token', () => {
  const principal = { id: 'ci', kind: 'service', assurance: 2, authenticatedAt: 1_000 } as const
  const tokens = staticTokens([{ sha256: tokenDigest('correct horse'), principal }])

  it('knows a token by its digest, and nothing else', async () => {
    expect(await tokens.authenticate('correct horse')).toEqual(principal)
    for (const wrong of ['correct hors', 'correct horse ', '', tokenDigest('correct horse'), undefined])
      expect(await tokens.authenticate(wrong)).toBeUndefined()
  })

  it('a subject of one mechanism is not the same name of another one', async () => {
    const world = new World()
    const alice = { ...principal, id: 'alice' }
    const authenticators = [staticTokens([{ sha256: tokenDigest('t'), principal: alice }]), jwt(options())]
    const process = world.start({ grants: everything, config: { authenticators, now: () => Date.now() } })
    const credential = { mechanism: 'token', token: 't' }
    await (await process.continuity.open({ mode: 'begin', credential, scope: 's' })).raise('secret')
    const other = { mechanism: 'jwt', token: await token() }
    expect(
      await reasonFor(() => process.continuity.open({ mode: 'resume', credential: other, scope: 's' })),
    ).toBe('unknown-scope')
  })

  it('a configuration that is none is refused', () => {
    expect(() => staticTokens([])).toThrow()
    expect(() => staticTokens([{ sha256: 'x', principal }])).toThrow()
    expect(() => staticTokens([{ sha256: tokenDigest('t'), principal: { ...principal, id: '' } }])).toThrow()
  })
})
