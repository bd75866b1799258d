import { z } from 'zod'
import type { Authenticator } from './authenticator.ts'
import type { GrantsFunction } from './grants.ts'
import type { SessionHeaderFunction } from './host.ts'

const functionOf = <T>(what: string) =>
  z.custom<T>((value) => typeof value === 'function', `${what} is a function`)

const authenticator = z.custom<Authenticator>((value) => {
  const { mechanism, authenticate } = Object(value) as Partial<Record<keyof Authenticator, unknown>>
  return (
    typeof mechanism === 'string' && /^[a-z0-9-]{1,32}$/.test(mechanism) && typeof authenticate === 'function'
  )
}, 'an authenticator has a mechanism and a function `authenticate`')

const label = z.string().regex(/^[a-z0-9-]{1,100}$/)

const isUnique = (values: readonly string[]): boolean => new Set(values).size === values.length

export const Config = z
  .strictObject({
    /** A folder; everything is below `continuity` in it. Left out, `ctx.continuityStore` of another plugin is used. */
    root: z.string().min(1).optional(),
    /** A folder for the witness, which must not lie inside the root, nor the root inside it. It goes with the root. */
    witness: z.string().min(1).optional(),
    /** The sensitivities, lowest first. */
    labels: z
      .array(label)
      .min(1)
      .max(64)
      .refine(isUnique, 'each label once')
      .default(['public', 'internal', 'confidential', 'secret']),
    /** What a new scope, and one after a reset, starts from. Default: the lowest label. */
    floor: label.optional(),
    /** Without one nobody is let in. */
    authenticators: z
      .array(authenticator)
      .max(16)
      .refine((all) => isUnique(all.map(({ mechanism }) => mechanism)), 'each mechanism once')
      .default([]),
    /** Who may do what, asked each time. Without it nothing is granted. */
    grants: functionOf<GrantsFunction>('grants').optional(),
    /** Headers of stored sessions. Default: as `ctx.sessionStorage` has them. */
    sessionHeader: functionOf<SessionHeaderFunction>('sessionHeader').optional(),
    /** How long an authenticator, and how long `grants`, may take. */
    answerMsMax: z.int().min(1).max(60_000).default(5_000),
    /** How long a handle's end, and a raise, wait for a session to be written. */
    flushMsMax: z.int().min(1).max(60_000).default(10_000),
    /** How far ahead of this clock a credential may have been made. */
    clockToleranceMs: z.int().min(0).max(600_000).default(5_000),
    /** Handles that are open at a time. */
    handlesMax: z.int().min(1).max(100_000).default(10_000),
    /** Bytes of one incarnation's audit file; then a new incarnation is due. */
    auditSizeBytesMax: z.int().min(65_536).max(1_073_741_824).default(67_108_864),
    /**
     * Refused attempts of an operation that are written down at once, and when one more is. All are counted. Of those
     * that are left nobody's are more than half.
     */
    refusedBurstMax: z.int().min(1).max(10_000).default(100),
    refusedLineMs: z.int().min(1).max(3_600_000).default(1_000),
    /** A clock, in milliseconds since the epoch. */
    now: functionOf<() => number>('now').default(() => Date.now),
  })
  .refine(({ labels, floor }) => floor === undefined || labels.includes(floor), 'floor is one of the labels')
  .refine(
    ({ root, witness }) => (root === undefined) === (witness === undefined),
    'root and witness go together; without both a plugin provides ctx.continuityStore',
  )
/** What a host writes. */
export type Config = Readonly<z.input<typeof Config>>
export type Settings = Readonly<z.output<typeof Config>>
