/**
 * Reads selected lines of a file again. When a user returns to an abandoned branch, its messages are emitted again;
 * keeping all texts in memory for this would need as much memory as the file is long.
 */
import { closeSync, openSync, readSync } from 'node:fs'
import { recordsOfLine } from './records-of.js'

const LINE_FEED = 10
const CHUNK = 1024 * 1024

/** The values in each of some lines, counted from 1, without unreadable lines. Throws if the file cannot be read. */
export function readLines(file: string, lineNumbers: ReadonlySet<number>): ReadonlyMap<number, readonly unknown[]> {
  const values = new Map<number, readonly unknown[]>()
  const last = Math.max(...lineNumbers)
  const descriptor = openSync(file, 'r')
  try {
    let pieces: Buffer[] = []
    const end = (line: number, isEnded: boolean): void => {
      if (lineNumbers.has(line)) {
        const read = [...recordsOfLine({ bytes: Buffer.concat(pieces), isEnded, where: { file, line } })]
        values.set(
          line,
          read.flatMap(({ record }) => ('value' in record ? [record.value] : [])),
        )
      }
      pieces = []
    }
    for (let line = 1; line <= last;) {
      const buffer = Buffer.alloc(CHUNK)
      const length = readSync(descriptor, buffer)
      if (length === 0) {
        end(line, false)
        break
      }
      let start = 0
      const chunk = buffer.subarray(0, length)
      for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, start)) {
        if (lineNumbers.has(line)) pieces.push(chunk.subarray(start, at))
        end(line, true)
        line += 1
        start = at + 1
      }
      if (lineNumbers.has(line)) pieces.push(chunk.subarray(start))
    }
  } finally {
    closeSync(descriptor)
  }
  return values
}
