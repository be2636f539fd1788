/** Parses JSON and JSON Lines from a user. Errors name the place and the field. */
import { LedgerError } from '../../lib/ledger-error.js'
import { either as E } from 'fp-ts'
import type { z } from 'zod'
import { strictJson } from '../../lib/json.js'
import { issueSentence } from '../../domain/values/issue-sentence.js'

/** Parses a JSON text. @param where the source that errors name: a flag, a file or a line */
export function valueOf(text: string, where: string): unknown {
  const read = strictJson(text)
  if (E.isLeft(read)) throw new LedgerError('MalformedInput', `${where} ${read.left.detail}`)
  return read.right
}

/** @param where the file and the line number */
export function parseJsonLine<Line>(text: string, where: string, schema: z.ZodType<Line>): Line {
  const parsed = schema.safeParse(valueOf(text, `${where}:`))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new LedgerError('MalformedInput', `${where}: ${issue?.path.join('.') || 'the line'} ${issueSentence(issue)}`)
}
