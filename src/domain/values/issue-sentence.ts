/**
 * What a schema finds wrong, in our words. A sentence goes on from the name of the field: `is empty`, `must be a whole
 * number`. Where a schema says it in words of its own, those stand.
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
  datetime: 'is no time such as 2026-03-01T12:30:00Z',
}

/** Begins what the parser says where nobody said anything else. */
const PARSERS_OWN = /^(?:Invalid|Too|Unrecognized) /u

const isOfText = (origin: string): boolean => origin === 'string' || origin === 'array'

/** What is wrong, to go on from the name of the field. */
export function issueSentence(issue: Issue | undefined): string {
  if (issue === undefined) return 'is wrong'
  if (!PARSERS_OWN.test(issue.message)) return issue.message
  switch (issue.code) {
    case 'invalid_type': {
      if (issue.message.endsWith('received undefined')) return 'is missing'
      return `must be ${NOUNS[issue.expected] ?? issue.expected}`
    }
    case 'too_small': {
      const least = String(issue.minimum)
      if (isOfText(issue.origin)) return least === '1' ? 'is empty' : `is shorter than ${least}`
      return issue.inclusive === false ? `must be above ${least}` : `must be ${least} or more`
    }
    case 'too_big': {
      const most = String(issue.maximum)
      if (isOfText(issue.origin)) return `is longer than ${most}`
      return issue.inclusive === false ? `must be below ${most}` : `must be ${most} or less`
    }
    case 'invalid_value': {
      const values = issue.values.map(String)
      return values.length < 3 ? `must be ${values.join(' or ')}` : `must be one of ${values.join(', ')}`
    }
    case 'invalid_format':
      return FORMATS[issue.format] ?? 'is not of the form that it has to have'
    case 'unrecognized_keys':
      return `may not have ${issue.keys.map((key) => `"${key}"`).join(', ')}`
    case 'custom':
    case 'invalid_element':
    case 'invalid_key':
    case 'invalid_union':
    case 'not_multiple_of':
      return 'is none of what it may be'
  }
}
