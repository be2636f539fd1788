/** JSON that a user gives, and a line of JSON Lines, checked; a wrong one is named by its place and field. */
import { either as E } from 'fp-ts'
import type { z } from 'zod'
import { strictJson } from '../domain/text/json.js'
import { issueSentence } from '../domain/values/issue-sentence.js'
import { InputError } from './errors.js'

/**
 * The value of a text that was given.
 * @param where what a complaint names: a flag, a file, a line of it
 */
export function valueOf(text: string, where: string): unknown {
  const read = strictJson(text)
  if (E.isLeft(read)) throw new InputError('MalformedInput', `${where} ${read.left.detail}`)
  return read.right
}

/** @param where the file and the number of the line */
export function parseJsonLine<Line>(text: string, where: string, schema: z.ZodType<Line>): Line {
  const parsed = schema.safeParse(valueOf(text, `${where}:`))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new InputError('MalformedInput', `${where}: ${issue?.path.join('.') || 'the line'} ${issueSentence(issue)}`)
}
