/** Waiting for additions to a page, which is sent without them if they take long. */

/** The result, or undefined if it takes longer or fails. */
export async function soon<T>(work: Promise<T>, milliseconds: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => {
      resolve(undefined)
    }, milliseconds)
  })
  try {
    return await Promise.race([work.catch(() => undefined), late])
  } finally {
    clearTimeout(timer)
  }
}
