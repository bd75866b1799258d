/**
 * What a clock tells, in milliseconds since the epoch. One that gives no number is no reason to refuse anything, since
 * nothing depends on the time: it reads as 0. JSON has no -0.
 */
export function timeTold(now: () => number = Date.now): number {
  const time = now()
  return Number.isFinite(time) ? time + 0 : 0
}
