import type { ProjectionSnapshot, SessionSnapshot, Told } from '@tidemark/session-core'
import { z } from 'zod'
import { fitting } from './fitting.ts'
import { decode, encodePieces, parseMessagePack } from './msgpack.ts'

/** The form of the content; another one is not read. In 1 a state did not say what it was told of types. */
const contentFormat = 2

/** How long encoding goes on before others may work, in milliseconds. */
const sliceMs = 2

/**
 * A snapshot as bytes. Each state is MessagePack of its own inside it, so that it is decoded when somebody asks for it:
 * a resume needs few of them. Encoded in slices: a large one must not hold up the event loop.
 */
export async function encodeSnapshot(
  { seq, types, projections }: SessionSnapshot,
  tailSeq: number,
  pause: () => Promise<void>,
): Promise<Uint8Array> {
  const states: Record<string, unknown> = {}
  for (const [name, { version, seq: last, told, state }] of projections) {
    const bytes = state === undefined ? undefined : await encodeInSlices(state, pause)
    const value = { version, seq: last, told: told && Object.fromEntries(told), state: bytes }
    Object.defineProperty(states, name, { value, enumerable: true })
  }
  return encodeInSlices({ format: contentFormat, seq, tailSeq, types, projections: states }, pause)
}

async function encodeInSlices(value: unknown, pause: () => Promise<void>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let since = performance.now()
  for (const piece of encodePieces(value)) {
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
  const states = Object.entries(projections).map(([name, found]) => [name, new LateState(found)] as const)
  const snapshot = { seq, types: types as SessionSnapshot['types'], projections: new Map(states) }
  return { snapshot, tailSeq }
}

interface EncodedState {
  readonly version: number
  readonly seq: number
  readonly told?: Readonly<Record<string, readonly string[]>> | undefined
  readonly state?: Uint8Array | undefined
}

/** A state that is decoded when it is first asked for. Its bytes proved themselves when they were read. */
class LateState implements ProjectionSnapshot {
  readonly version: number
  readonly seq: number
  readonly told?: Told
  private bytes: Uint8Array | undefined
  private value: unknown

  constructor({ version, seq, told, state }: EncodedState) {
    this.version = version
    this.seq = seq
    if (told) this.told = new Map(Object.entries(told))
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

const schema = z.object({
  format: z.literal(contentFormat),
  seq: seqSchema,
  tailSeq: z.int().min(0),
  types: z.array(z.object({ seq: seqSchema, type: z.string(), ignorable: flag, replaces: flag })),
  projections: z.record(
    z.string(),
    z.object({
      version: z.number(),
      seq: seqSchema,
      state: z.instanceof(Uint8Array).optional(),
      told: z.record(z.string(), z.array(z.string())).optional(),
    }),
  ),
})
