/**
 * The rule for numbers that somebody else may have written: what counts is at most `leapMax` above what is known to
 * be ours. A number that is further away was not counted to, and is not followed: the next one after it might be one
 * that no reader takes.
 */
const leapMax = 1_000_000_000

/** The highest number, of 15 digits, of a file or a generation: what is higher is neither read nor written. */
export const numberMax = 999_999_999_999_999

export interface Followed {
  /** In ascending order. */
  readonly numbers: readonly number[]
  /** Those that nobody counted to. */
  readonly strays: readonly number[]
}

/** The numbers to go by, given one that is known to be ours, or else each within reach of the one below it. */
export function follow(listed: readonly number[], known: number | undefined): Followed {
  const sorted = [...listed].sort((a, b) => a - b)
  let reach = (known ?? 0) + leapMax
  const numbers: number[] = []
  for (const number of sorted) {
    if (number > reach || number > numberMax - leapMax) break
    numbers.push(number)
    if (known === undefined) reach = number + leapMax
  }
  return { numbers, strays: sorted.slice(numbers.length) }
}

export interface Numbered {
  /** The highest that there is; 0 where there is none. */
  readonly highest: number
  readonly witnessed: readonly number[]
}

/** Above all that there is, and all that there was as far as the witness knows: none is given twice, though it be gone. */
export function numberAfter({ highest, witnessed }: Numbered): number {
  return Math.max(highest, ...witnessed) + 1
}

/** Whether somebody can have counted to a number, from one that is known to be ours. */
export function isWithinReach(number: number, known: number): boolean {
  return number <= Math.min(known + leapMax, numberMax - leapMax)
}
