const late = Symbol('late')

/** What work comes to, or what `whenLate` gives where that takes longer than so many milliseconds. */
export async function inTime<T>(work: Promise<T>, durationMsMax: number, whenLate: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const tooLong = new Promise<typeof late>((resolve) => {
    timer = setTimeout(() => resolve(late), durationMsMax)
  })
  try {
    const first = await Promise.race([work, tooLong])
    return first === late ? whenLate() : first
  } finally {
    clearTimeout(timer)
  }
}
