/** The default strategy with a model: one narrative a chunk, with the chunk before as background. */
import { either as E } from 'fp-ts'
import type { Summarizer } from '../ports/summarizer.js'
import { createModelSummarizer, type ModelStrategy, type ModelStrategyOptions } from './model-strategy.js'
import { foldInPrompt, resummarizePrompt } from './prompts.js'

/** What is asked, and how the answer is read. */
export const foldIn: ModelStrategy<'fold-in'> = {
  name: 'fold-in',
  prompts: { chunk: foldInPrompt, resummarize: resummarizePrompt },
  read: (answer) => E.right({ text: answer.trim() }),
}

/** A summarizer whose summary is what the model wrote. */
export const createFoldInSummarizer = (options: ModelStrategyOptions): Summarizer =>
  createModelSummarizer(foldIn, options)
