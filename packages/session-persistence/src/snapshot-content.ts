import { isSessionError, type SessionError } from '@tidemark/session-core'
import type { ProjectionSnapshot, SessionSnapshot, ToldData } from '@tidemark/session-core'
import { z } from 'zod'
import { fitting } from './fitting.ts'
import { decode, encodePieces, encodeState, parseMessagePack } from './msgpack.ts'

/** The form of the content; another one is not read. In 1 a state did not say what it was told of types. */
const contentFormat = 2

/** How long encoding goes on before others may work, in milliseconds. */
const sliceMs = 2

/** What is written of a snapshot. */
export interface EncodedSnapshot {
  readonly content: Uint8Array
  /** `UNFIT_STATE` of each projection that is left out: it is folded from the log when somebody wants it. */
  readonly unfit: readonly SessionError[]
}

/**
 * A snapshot as bytes. Each state is MessagePack of its own inside it, so that it is decoded when somebody asks for it:
 * a resume needs few of them. Encoded in slices: a large one must not hold up the event loop.
 */
export async function encodeSnapshot(
  { seq, types, projections }: SessionSnapshot,
  tailSeq: number,
  pause: () => Promise<void>,
): Promise<EncodedSnapshot> {
  const states: Record<string, unknown> = {}
  const unfit: SessionError[] = []
  for (const [name, { version, seq: last, told, state }] of projections) {
    const bytes = await unlessUnfit(encodeInSlices(encodeState(name, state), pause), unfit)
    if (bytes === undefined) continue
    const value = { version, seq: last, told, state: bytes }
    Object.defineProperty(states, name, { value, enumerable: true })
  }
  const whole = { format: contentFormat, seq, tailSeq, types, projections: states }
  return { content: await encodeInSlices(encodePieces(whole), pause), unfit }
}

async function unlessUnfit<T>(encoding: Promise<T>, unfit: SessionError[]): Promise<T | undefined> {
  try {
    return await encoding
  } catch (error) {
    if (!isSessionError(error) || error.code !== 'UNFIT_STATE') throw error
    unfit.push(error)
    return undefined
  }
}

async function encodeInSlices(
  encoding: Iterable<Uint8Array>,
  pause: () => Promise<void>,
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let since = performance.now()
  for (const piece of encoding) {
    pieces.push(piece)
    if (performance.now() - since < sliceMs) continue
    await pause()
    since = performance.now()
  }
  return Buffer.concat(pieces)
}

/** A snapshot, and the first seq before its end that a resume should read all the same. */
export interface FoundSnapshot {
  readonly snapshot: SessionSnapshot
  readonly tailSeq: number
}

/** `undefined` for what this version does not understand: then the log is read instead. */
export function decodeSnapshot(content: Uint8Array): FoundSnapshot | undefined {
  const parsed = fitting(schema, parseMessagePack(content))
  if (parsed === undefined) return undefined
  const { seq, tailSeq, types, projections } = parsed
  if (tailSeq > seq + 1) return undefined
  const states = projections.map(([name, found]) => [name, new LateState(found)] as const)
  const snapshot = { seq, types: types as SessionSnapshot['types'], projections: new Map(states) }
  return { snapshot, tailSeq }
}

interface EncodedState {
  readonly version: number
  readonly seq: number
  readonly told?: ToldData | undefined
  readonly state: Uint8Array
}

/** A state that is decoded when it is first asked for. Its bytes proved themselves when they were read. */
class LateState implements ProjectionSnapshot {
  readonly version: number
  readonly seq: number
  readonly told?: ToldData
  private bytes: Uint8Array | undefined
  private value: unknown

  constructor({ version, seq, told, state }: EncodedState) {
    this.version = version
    this.seq = seq
    if (told) this.told = told
    this.bytes = state
  }

  get state(): unknown {
    if (this.bytes) this.value = decode(this.bytes)
    this.bytes = undefined
    return this.value
  }
}

const seqSchema = z.int().min(-1)
const flag = z.literal(true).optional()

const state = z.object({
  version: z.number(),
  seq: seqSchema,
  state: z.instanceof(Uint8Array),
  told: z.record(z.string(), z.array(z.string())).optional(),
})

const schema = z.object({
  format: z.literal(contentFormat),
  seq: seqSchema,
  tailSeq: z.int().min(0),
  types: z.array(z.object({ seq: seqSchema, type: z.string(), ignorable: flag, replaces: flag })),
  projections: z.preprocess(entriesOf, z.array(z.tuple([z.string(), state]))),
})

/** A record's schema would leave `__proto__` out, which is a name as good as any. */
function entriesOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? Object.entries(value) : value
}
