/**
 * The strategy that asks for named sections as JSON. The summary is their rendering, so text and sections never
 * disagree. An answer in prose is accepted as plain text, so that no second call is needed.
 */
import { z } from 'zod'
import { sectionsSchema } from '../../domain/events/index.js'
import type { Summarizer } from '../../ports/summarizer.js'
import { cleanAnswer } from './clean-answer.js'
import {
  createModelSummarizer,
  type ModelStrategy,
  type ModelStrategyOptions,
  type ReadAnswer,
} from './model-strategy.js'
import { STRUCTURED_FORM, structuredPrompt, structuredResummarizePrompt } from './prompts.js'
import { readSections } from './read-sections.js'
import { renderSections } from './render-sections.js'

const { $schema: _dialect, ...jsonSchema } = z.toJSONSchema(sectionsSchema)

function read(answer: string): ReadAnswer {
  const cleaned = cleanAnswer(answer)
  const sections = readSections(cleaned)
  return sections === undefined ? { text: cleaned, asPlainText: true } : { text: renderSections(sections), sections }
}

/** The requests of the strategy, and how an answer is read. */
export const structured: ModelStrategy<'structured'> = {
  name: 'structured',
  prompts: { chunk: structuredPrompt, resummarize: structuredResummarizePrompt },
  system: STRUCTURED_FORM,
  responseSchema: { name: 'sections', schema: jsonSchema },
  answerName: 'record',
  read,
}

/** A summarizer that gives sections with its text. */
export const createStructuredSummarizer = (options: ModelStrategyOptions): Summarizer =>
  createModelSummarizer(structured, options)
