/** The file of `search --queries`: a line a query. */
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import { LedgerError } from '../library/problem.js'
import { InputError } from './errors.js'
import { parseJsonLine } from './json-line.js'

/** Hits that one query may ask for. */
const MOST_HITS = 10_000

const queryLine = z.object({
  query: z.string(),
  conversationId: z.string().min(1).optional(),
  limit: z.number().int().min(1).max(MOST_HITS).optional(),
})
export type Query = z.infer<typeof queryLine>

async function answerLines(
  input: NodeJS.ReadableStream,
  file: string,
  answer: (query: Query) => Promise<void>,
): Promise<void> {
  let number = 0
  for await (const text of createInterface({ input, crlfDelay: Infinity })) {
    number += 1
    if (text.trim() === '') continue
    const where = `${file === '-' ? 'standard input' : file}:${String(number)}`
    const query = parseJsonLine(text, where, queryLine)
    try {
      await answer(query)
    } catch (error) {
      throw error instanceof LedgerError && error.fault === 'input'
        ? new InputError(error.failure.kind, `${where}: ${error.message}`)
        : error
    }
  }
}

/** Answers one query after the other; one that cannot be answered is named by its line. */
export async function answerQueries(file: string, answer: (query: Query) => Promise<void>): Promise<void> {
  const input: NodeJS.ReadableStream = file === '-' ? process.stdin : createReadStream(file)
  let failed: Error | undefined
  input.on('error', (error: Error) => {
    failed = error
  })
  const unreadable = (error: Error): InputError =>
    new InputError('Usage', `--queries ${file} cannot be read: ${error.message}`)
  try {
    await answerLines(input, file, answer)
  } catch (error) {
    throw failed === undefined ? error : unreadable(failed)
  }
  if (failed !== undefined) throw unreadable(failed)
}
