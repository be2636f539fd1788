/**
 * The file of a server that is to survive its own death: one JSON line an append. A line is handed to the operating
 * system before the append is acknowledged, which is enough against `kill -9`; nothing is forced to the disk, so the
 * loss of power is not covered.
 */
import { closeSync, existsSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs'
import { z } from 'zod'
import type { Journal, Recorded } from './log.js'

const line = z.array(
  z.object({
    id: z.string(),
    type: z.string(),
    contentType: z.string(),
    data: z.base64(),
    metadata: z.base64(),
    stream: z.string(),
    revision: z.string(),
    position: z.string(),
    created: z.string(),
  }),
)

const toLine = (records: readonly Recorded[]): string => {
  const stored: z.infer<typeof line> = records.map((record) => ({
    ...record,
    data: Buffer.from(record.data).toString('base64'),
    metadata: Buffer.from(record.metadata).toString('base64'),
    revision: String(record.revision),
    position: String(record.position),
    created: String(record.created),
  }))
  return `${JSON.stringify(stored)}\n`
}

const fromLine = (text: string): readonly Recorded[] =>
  line.parse(JSON.parse(text)).map((stored) => ({
    ...stored,
    data: Buffer.from(stored.data, 'base64'),
    metadata: Buffer.from(stored.metadata, 'base64'),
    revision: Number(stored.revision),
    position: Number(stored.position),
    created: Number(stored.created),
  }))

/** Reads the file, if it exists, and cuts off a last line that a kill has torn: that append was never acknowledged. */
export function openJournal(path: string): Journal {
  const bytes = existsSync(path) ? readFileSync(path) : Buffer.alloc(0)
  const whole = bytes.subarray(0, bytes.lastIndexOf('\n') + 1)
  if (whole.length < bytes.length) truncateSync(path, whole.length)
  const appends = whole.toString('utf8').split('\n').filter(Boolean).map(fromLine)
  const file = openSync(path, 'a')
  return {
    appends,
    write(records) {
      const text = Buffer.from(toLine(records))
      for (let written = 0; written < text.length;) written += writeSync(file, text, written)
    },
    close: () => closeSync(file),
  }
}
