/** The file of `search --queries`: one query per line. */
import { isLedgerError, LedgerError } from '../../lib/ledger-error.js'
import { createReadStream } from 'node:fs'
import { z } from 'zod'

import { sentenceOf } from '../../ports/store-error.js'
import { parseJsonLine } from './json-line.js'
import { textLines } from './text-lines.js'

/** Maximum hits of one query. */
const MAX_HITS = 10_000

const queryLine = z.object({
  query: z.string(),
  conversationId: z.string().min(1).optional(),
  limit: z.number().int().min(1).max(MAX_HITS).optional(),
})
export type Query = z.infer<typeof queryLine>

/** Answers the queries in order. An error names the line of the query. */
export async function answerQueries(file: string, answer: (query: Query) => Promise<void>): Promise<void> {
  const name = file === '-' ? 'standard input' : file
  for await (const { text, number } of textLines(chunksOf(file), name)) {
    if (text.trim() === '') continue
    const where = `${name}:${String(number)}`
    const query = parseJsonLine(text, where, queryLine)
    try {
      await answer(query)
    } catch (error) {
      throw isLedgerError(error) && error.fault === 'input'
        ? new LedgerError(error.kind, `${where}: ${error.message}`)
        : error
    }
  }
}

async function* chunksOf(file: string): AsyncIterable<Buffer> {
  try {
    yield* file === '-' ? process.stdin : createReadStream(file)
  } catch (error) {
    throw new LedgerError('FileUnusable', `--queries ${file} cannot be read: ${sentenceOf(error)}`)
  }
}
