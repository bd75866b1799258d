type Work = () => unknown

const ends: Work[] = []
const removals: Work[] = []

/** Ends what a test has started, once it is over: what was started last is ended first. */
export function endAfterTest(work: Work): void {
  ends.push(work)
}

/** Removes what a test has made, once everything that it started has ended. */
export function removeAfterTest(work: Work): void {
  removals.push(work)
}

/** Does all of it, and then fails where a part of it failed. */
export async function cleanUp(): Promise<void> {
  const failures: unknown[] = []
  for (const queue of [ends, removals]) {
    for (const work of queue.splice(0).reverse()) {
      try {
        await work()
      } catch (error) {
        failures.push(error)
      }
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, 'what a test started could not be ended')
}
