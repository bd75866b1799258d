// `export *` where plugins merge into an interface: a named re-export could not be merged into.
export * from './event.ts'
export type { SessionErrorCode } from './codes.ts'
export { SessionError, assert, assertNever, isSessionError, type SessionErrorDetails } from './errors.ts'
export {
  assertLossless,
  payloadDepthMax,
  payloadValuesMax,
  type JsonObject,
  type JsonPrimitive,
  type JsonValue,
} from './json.ts'
export { idLengthMax, refuseId } from './id.ts'
export { boundaryType, isOrphaned, recoveredType } from './boundary.ts'
export { coreSchemas, step, toolCall, turn } from './core.ts'
export { defineBracket, defineProjection, isEvent } from './definition.ts'
export type {
  Bracket,
  BracketInput,
  BracketKey,
  Definitions,
  EventDefinition,
  EventSchema,
} from './definition.ts'
export type { Projection, ProjectionContext, RenderedMessage, Replacement } from './definition.ts'
export { orphanedMax, type OpenBracket } from './bracket.ts'
export type { SessionLog } from './log.ts'
export { SessionSeed } from './seed.ts'
export type { SessionView } from './view.ts'
export { isSession, type AppendOptions, type Session } from './session.ts'
export { forkDepthMax } from './header.ts'
export type { CreateOptions, ForkOptions, Sessions } from './sessions.ts'
export type { FlushReceipt, Recorder } from './recorder.ts'
export type { Redact } from './redact.ts'
export type { TranscriptState } from './transcript/transcript.ts'
export { transcript } from './transcript/transcript.ts'
export { messagesOf } from './transcript/render.ts'
export type * from './transcript/message.ts'
export { tracked, type Host } from './host.ts'
export { Config, apply, name } from './plugin.ts'
