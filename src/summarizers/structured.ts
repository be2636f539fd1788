/**
 * The strategy that asks for named sections as JSON. The summary is their rendering, so text and sections never
 * disagree.
 */
import { either as E } from 'fp-ts'
import { z } from 'zod'
import { sectionsSchema, type Sections } from '../domain/events/index.js'
import type { Summarizer, SummarizerFailure } from '../ports/summarizer.js'
import {
  createModelSummarizer,
  failed,
  type ModelStrategy,
  type ModelStrategyOptions,
  type ReadAnswer,
} from './model-strategy.js'
import { STRUCTURED_FORM, structuredPrompt } from './prompts.js'

const { $schema: _dialect, ...jsonSchema } = z.toJSONSchema(sectionsSchema)

type Section = readonly [title: string, entries: readonly string[]]

const workEntry = ({ file, action, description }: Sections['completedWork'][number]): string =>
  [...(file === '' ? [] : [file]), ...(action === '' ? [] : [`(${action})`])].join(' ') +
  (description === '' ? '' : `${file === '' && action === '' ? '' : ': '}${description}`)

/** Sections as text: a heading and a list for each that has something to say. Empty where none has. */
export function renderSections(sections: Sections): string {
  const all: readonly Section[] = [
    ['Completed work', sections.completedWork.map(workEntry)],
    ['Decisions', sections.decisions],
    ['Current state', sections.currentState],
    ['Pending work', sections.pendingWork],
    ['Errors', sections.errors],
  ]
  return all
    .map(([title, entries]) => [title, entries.filter((entry) => entry.trim() !== '')] as const)
    .filter(([, entries]) => entries.length > 0)
    .map(([title, entries]) => [`${title}:`, ...entries.map((entry) => `- ${entry.trim()}`)].join('\n'))
    .join('\n')
}

// Models that are not held to the schema wrap JSON in a code block, or put a sentence in front.
function jsonIn(answer: string): string {
  const start = answer.indexOf('{')
  const end = answer.lastIndexOf('}')
  return start >= 0 && end > start ? answer.slice(start, end + 1) : answer
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function read(answer: string): E.Either<SummarizerFailure, ReadAnswer> {
  const json = parsedJson(jsonIn(answer))
  if (json === undefined) return E.left(failed('malformed', 'the answer is not JSON'))
  const parsed = sectionsSchema.safeParse(json)
  if (parsed.success) return E.right({ text: renderSections(parsed.data), sections: parsed.data })
  const issue = parsed.error.issues[0]
  return E.left(
    failed('malformed', `${issue?.path.join('.') || 'the answer'}: ${issue?.message ?? 'is not what was asked for'}`),
  )
}

/** What is asked, and how the answer is read. */
export const structured: ModelStrategy<'structured'> = {
  name: 'structured',
  prompts: { chunk: structuredPrompt, resummarize: structuredPrompt },
  system: STRUCTURED_FORM,
  responseSchema: { name: 'sections', schema: jsonSchema },
  read,
}

/** A summarizer that gives sections with its text. */
export const createStructuredSummarizer = (options: ModelStrategyOptions): Summarizer =>
  createModelSummarizer(structured, options)
