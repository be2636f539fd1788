/** A line of JSON Lines, checked; a wrong one is named by its place and field. */
import type { z } from 'zod'
import { issueSentence } from '../domain/values/issue-sentence.js'
import { InputError } from './errors.js'

/** @param where the file and the number of the line */
export function parseJsonLine<Line>(text: string, where: string, schema: z.ZodType<Line>): Line {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new InputError(
      'MalformedInput',
      `${where}: is no JSON: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new InputError('MalformedInput', `${where}: ${issue?.path.join('.') || 'the line'} ${issueSentence(issue)}`)
}
