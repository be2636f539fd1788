/**
 * Words for the issues that a schema reports. Each continues the name of a field: `is empty`, `must be a whole number`.
 * A message that the schema itself defines is used unchanged.
 */
import type { z } from 'zod'

type Issue = z.core.$ZodIssue

const NOUNS: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  nan: 'a number',
  string: 'a text',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}

const FORMATS: Readonly<Record<string, string>> = {
  url: 'is no address',
  datetime: 'is not a time such as 2026-03-01T12:30:00Z',
}

/** Recognizes the parser's default messages. */
const PARSER_DEFAULT = /^(?:Invalid|Too|Unrecognized) /u

const isOfText = (origin: string): boolean => origin === 'string' || origin === 'array'

/**
 * A description of what is wrong in the form that the value comes closest to: one that accepts its type. It names the
 * field in the value.
 */
function unionSentence(forms: readonly (readonly Issue[])[]): string {
  const isOfType = (issues: readonly Issue[]): boolean =>
    issues.every(({ path, code }) => path.length > 0 || code === 'unrecognized_keys')
  const [issue] =
    forms.filter((issues) => issues.length > 0 && isOfType(issues)).toSorted((a, b) => a.length - b.length)[0] ?? []
  if (issue === undefined) return 'is not an allowed value'
  const path = issue.path.join('.')
  if (issue.code === 'unrecognized_keys')
    return `may not have ${issue.keys.map((key) => `"${path === '' ? key : `${path}.${key}`}"`).join(', ')}`
  return `is not an allowed value: ${path} ${issueSentence(issue)}`
}

/** A description of the issue, which continues the name of the field. */
export function issueSentence(issue: Issue | undefined): string {
  if (issue === undefined) return 'is wrong'
  if (!PARSER_DEFAULT.test(issue.message)) return issue.message
  switch (issue.code) {
    case 'invalid_type': {
      // The issue has no field for the received type; zod's message is "Invalid input: expected string, received undefined".
      if (issue.message.endsWith('received undefined')) return 'is missing'
      return `must be ${NOUNS[issue.expected] ?? issue.expected}`
    }
    case 'too_small': {
      const minimum = String(issue.minimum)
      if (isOfText(issue.origin)) return minimum === '1' ? 'is empty' : `is shorter than ${minimum}`
      return issue.inclusive === false ? `must be above ${minimum}` : `must be ${minimum} or more`
    }
    case 'too_big': {
      const maximum = String(issue.maximum)
      if (isOfText(issue.origin)) return `is longer than ${maximum}`
      return issue.inclusive === false ? `must be below ${maximum}` : `must be ${maximum} or less`
    }
    case 'invalid_value': {
      const values = issue.values.map(String)
      return values.length < 3 ? `must be ${values.join(' or ')}` : `must be one of ${values.join(', ')}`
    }
    case 'invalid_format':
      return FORMATS[issue.format] ?? 'has the wrong format'
    case 'unrecognized_keys':
      return `may not have ${issue.keys.map((key) => `"${key}"`).join(', ')}`
    case 'invalid_union':
      return unionSentence(issue.errors)
    case 'custom':
    case 'invalid_element':
    case 'invalid_key':
    case 'not_multiple_of':
      return 'is not an allowed value'
  }
}
