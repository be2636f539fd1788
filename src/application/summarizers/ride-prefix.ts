/**
 * A summary that is requested after the agent's own context: the same tools, instructions and messages as the agent's
 * last request, up to the last message of the chunk, and then the task. A provider that caches prompts by their
 * beginning has most of it already. If there is no such request (an edition, summaries of summaries, a window that is
 * too small), the messages are in the prompt, as in `fold-in`.
 */
import type { Summarizer } from '../../ports/summarizer.js'
import { cleanAnswer } from './clean-answer.js'
import { createModelSummarizer, type ModelStrategy, type ModelStrategyOptions } from './model-strategy.js'
import { resummarizePrompt, ridePrefixPrompt } from './prompts.js'

/** The requests of the strategy, and how an answer is read. */
export const ridePrefix: ModelStrategy<'ride-prefix'> = {
  name: 'ride-prefix',
  prompts: { chunk: ridePrefixPrompt, resummarize: resummarizePrompt },
  forms: { chunk: { ridesPrefix: true, answerName: 'summary' }, resummarize: { answerName: 'summary' } },
  read: (answer) => ({ text: cleanAnswer(answer) }),
}

/** A summarizer that asks after the agent's own context. */
export const createRidePrefixSummarizer = (options: ModelStrategyOptions): Summarizer =>
  createModelSummarizer(ridePrefix, options)
