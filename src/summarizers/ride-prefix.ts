/**
 * A summary that is asked for behind the agent's own context: the same tools, instructions and messages as the agent's
 * last request, up to the last message of the chunk, and what to do at the end. A provider that caches prompts by their
 * beginning has most of it already. Where there is no such request (an edition, summaries of summaries, a window that is
 * too small), the messages stand in the prompt, as `fold-in` has them.
 */
import { either as E } from 'fp-ts'
import type { Summarizer } from '../ports/summarizer.js'
import { createModelSummarizer, type ModelStrategy, type ModelStrategyOptions } from './model-strategy.js'
import { resummarizePrompt, ridePrefixPrompt } from './prompts.js'

/** What is asked, and how the answer is read. */
export const ridePrefix: ModelStrategy<'ride-prefix'> = {
  name: 'ride-prefix',
  prompts: { chunk: ridePrefixPrompt, resummarize: resummarizePrompt },
  ridesPrefix: true,
  read: (answer) => E.right({ text: answer.trim() }),
}

/** A summarizer that asks behind the agent's own context. */
export const createRidePrefixSummarizer = (options: ModelStrategyOptions): Summarizer =>
  createModelSummarizer(ridePrefix, options)
