/**
 * Splits a stream of bytes into lines. `node:readline` is unsuitable for lines of JSON: it also ends a line at U+2028,
 * which a JSON text may contain, and it does not report whether the last line was terminated.
 */

const LINE_FEED = 10

export interface ByteLine {
  /** Without its line feed. */
  readonly bytes: Buffer
  /** False for a last line without a line feed. */
  readonly isEnded: boolean
}

/**
 * Yields each line as soon as its end is read.
 * @param onWaiting called after each chunk with the number of bytes of the unfinished line; can throw if there are too
 * many
 */
export async function* byteLines(
  chunks: AsyncIterable<Buffer>,
  onWaiting: (bytes: number) => void = () => undefined,
): AsyncGenerator<ByteLine> {
  let parts: Buffer[] = []
  let waiting = 0
  for await (const chunk of chunks) {
    let start = 0
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, start)) {
      const piece = chunk.subarray(start, at)
      yield { bytes: parts.length === 0 ? piece : Buffer.concat([...parts, piece]), isEnded: true }
      parts = []
      waiting = 0
      start = at + 1
    }
    parts.push(chunk.subarray(start))
    waiting += chunk.length - start
    onWaiting(waiting)
  }
  if (waiting > 0) yield { bytes: Buffer.concat(parts), isEnded: false }
}
