import { streamText } from 'ai'
import { Answer, type Outcome } from './answer.ts'
import type { Question } from './asking.ts'
import { withIntake } from './intake.ts'
import type { Stop } from './stop.ts'

/** One call of the model. Never rejects but with what stopped it. */
export async function attempt(question: Question, stop: Stop): Promise<Outcome> {
  const answer = new Answer(question.request.sizeBytesMax)
  try {
    stop.throwIfStopped()
    stop.listen()
    return await read(begin(question, stop, answer), answer, stop)
  } catch (error) {
    stop.throwIfStopped()
    return answer.fail(error)
  } finally {
    stop.quiet()
  }
}

function begin({ prompt, request, settings }: Question, stop: Stop, answer: Answer) {
  const bounds = [settings.maxOutputTokens, request.tokensMax].filter((bound) => bound !== undefined)
  const { fullStream } = streamText({
    model: withIntake(settings.model, stop, () => answer.open()),
    system: prompt.system,
    prompt: prompt.user,
    abortSignal: stop.signal,
    // Ours are bounded, and end with the signal.
    maxRetries: 0,
    ...(bounds.length > 0 && { maxOutputTokens: Math.min(...bounds) }),
    experimental_include: { requestBody: false },
    // Otherwise the SDK prints the error, with the transcript in it.
    onError: () => undefined,
  })
  return fullStream.getReader()
}

async function read(reader: ReturnType<typeof begin>, answer: Answer, stop: Stop): Promise<Outcome> {
  for (;;) {
    const { done, value } = await stop.until(reader.read())
    if (done) return answer.end()
    const outcome = answer.take(value)
    if (outcome) return outcome
  }
}
