/** The default strategy with a model: one narrative per chunk, with the summary of the previous chunk as background. */
import type { Summarizer } from '../../ports/summarizer.js'
import { cleanAnswer } from './clean-answer.js'
import { createModelSummarizer, type ModelStrategy, type ModelStrategyOptions } from './model-strategy.js'
import { foldInPrompt, resummarizePrompt } from './prompts.js'

const FORM = { answerName: 'summary' }

/** The requests of the strategy, and the parser of its answers. */
export const foldIn: ModelStrategy<'fold-in'> = {
  name: 'fold-in',
  prompts: { chunk: foldInPrompt, resummarize: resummarizePrompt },
  forms: { chunk: FORM, resummarize: FORM },
  read: (answer) => ({ text: cleanAnswer(answer) }),
}

/** A summarizer that uses the model's text as the summary. */
export const createFoldInSummarizer = (options: ModelStrategyOptions): Summarizer =>
  createModelSummarizer(foldIn, options)
