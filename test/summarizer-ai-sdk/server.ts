import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModel } from 'ai'
import { endAfterTest } from '../clean-up.ts'

export interface Exchange {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: {
    readonly stream: boolean
    readonly max_tokens?: number
    readonly messages: readonly { readonly role: string; readonly content: string }[]
  }
  /** Resolves when the connection is gone; true when our answer had ended before. */
  readonly closed: Promise<boolean>
}

/** What the server does with one request. */
export type Reply = (response: ServerResponse) => void | Promise<void>

/** A server of chat completions on loopback: each request gets the next reply, and the last one again. */
export async function serve(
  ...replies: readonly Reply[]
): Promise<{ model: LanguageModel; seen: Exchange[] }> {
  const seen: Exchange[] = []
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const closed = new Promise<boolean>((resolve) =>
        response.on('close', () => resolve(response.writableFinished)),
      )
      const body = JSON.parse(Buffer.concat(pieces).toString())
      seen.push({ path: request.url ?? '', headers: request.headers, body, closed })
      void replies[Math.min(seen.length, replies.length) - 1]?.(response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  endAfterTest(() => {
    server.closeAllConnections()
    server.close()
  })
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  return { model: createOpenAICompatible({ name: 'near', baseURL, apiKey: 'sk-secret' })('small'), seen }
}

export function event(delta: object, finishReason: string | null = null): string {
  const choice = { index: 0, delta, finish_reason: finishReason }
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'small', choices: [choice] })}\n\n`
}

export const done = 'data: [DONE]\n\n'
const streaming = { 'content-type': 'text/event-stream' }

/** Streams the whole text as events, written in pieces of so many bytes. */
export function streamed(
  texts: readonly string[],
  { reason = 'stop', pieceSizeBytes = 1_000_000 } = {},
): Reply {
  return async (response) => {
    response.writeHead(200, streaming)
    const events = texts.map((content) => event({ content })).join('')
    const bytes = Buffer.from(`: a comment\n\n${events}${event({}, reason)}${done}`)
    for (let at = 0; at < bytes.length; at += pieceSizeBytes)
      await new Promise((resolve) => response.write(bytes.subarray(at, at + pieceSizeBytes), resolve))
    response.end()
  }
}

/** Begins to stream, and leaves the rest to `then`. */
export function begun(content: string, then: Reply): Reply {
  return (response) => {
    response.writeHead(200, streaming)
    response.write(event({ content }), () => void then(response))
  }
}

export function refused(status: number, headers: Record<string, string> = {}): Reply {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify({ error: { message: 'the key sk-secret, and the prompt', type: 'x' } }))
  }
}

export const hangs: Reply = () => undefined
export const resets: Reply = (response) => void response.socket?.resetAndDestroy()
