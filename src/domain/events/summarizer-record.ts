/** How a summary was made: strategy, model, request, prompt, and usage. */
import { z } from 'zod'
import type { ValuesByField } from './event-definition.js'
import { count, hash, id } from './fields.js'
import { renamed, within } from './upcast.js'

/** The strategy of a function of the host, which gets only what it summarizes, and no background. */
export const FUNCTION_STRATEGY = 'function'

/** The strategies of this program, with the formatter version since which their requests have the working state. */
const WORKING_STATE_SINCE: ReadonlyMap<string, number> = new Map([
  [FUNCTION_STRATEGY, Infinity],
  ['extractive', Infinity],
  ['fold-in', 4],
  ['structured', 4],
  ['ride-prefix', 4],
])

/** Whether the request may have had the working state of the messages before. A strategy from outside may read it. */
export const hasWorkingState = ({
  strategy,
  formatterVersion,
}: {
  readonly strategy: string
  readonly formatterVersion: number
}): boolean => formatterVersion >= (WORKING_STATE_SINCE.get(strategy) ?? 0)

/** A paid answer that was rejected. */
export const rejectedAnswerSchema = z.object({
  /** The request of this answer. The first is the record's own; a second one quotes the first answer. */
  requestHash: hash,
  /** Kind of the failure: `over-long`, `refused`, `malformed`, `cut-off`, … */
  failure: id,
  detail: z.string(),
  /** The whole text of the answer; empty if there was none. */
  text: z.string(),
  responseId: z.string().optional(),
  usage: z.object({ promptTokens: count, completionTokens: count, cachedTokens: count.optional() }).optional(),
  durationMs: z.number().nonnegative(),
})
export type RejectedAnswer = z.infer<typeof rejectedAnswerSchema>

export const summarizerRecordSchema = z.object({
  strategy: id,
  provider: id,
  model: id,
  parameters: z.record(z.string(), z.unknown()),
  prompt: z.object({ name: id, sha256: hash }),
  persona: z.object({ sha256: hash }).optional(),
  formatterVersion: count,
  /** SHA-256 over strategy, provider, model, parameters and the exact request. */
  requestHash: hash,
  /**
   * In an erasable ledger: `requestHash`, hashed with a key. Ids of chunks and merged batches depend on it, and cannot
   * be computed from a guess of the text after its key is destroyed.
   */
  idSeed: id.optional(),
  responseId: z.string().optional(),
  /** `cachedTokens` counts the prompt tokens in the provider's cache, if the provider reported them. */
  usage: z.object({ promptTokens: count, completionTokens: count, cachedTokens: count.optional() }).optional(),
  durationMs: z.number().nonnegative(),
  /** True if the extractive strategy made the summary as the fallback: the summarizer failed at the hard limit. */
  fallback: z.boolean().optional(),
  /**
   * True if no model was called: the summary was recorded earlier for the same `requestHash`, or comes from an edition
   * of this conversation.
   */
  reused: z.boolean().optional(),
  /** Answers before the accepted one, in order. Their usage is part of `usage`. */
  rejectedAnswers: z.array(rejectedAnswerSchema).optional(),
  /** SHA-256 of the answered request, if that was a second one that describes the errors of the first answer. */
  answeredRequestHash: hash.optional(),
  /** Present if the answer is longer than requested and was accepted: at most a quarter above `limit`. */
  overLimit: z.object({ tokens: count, limit: count }).optional(),
  /** Present if the summary is the beginning of a longer answer, whose full text is in `text`. */
  shortened: z.object({ tokens: count, limit: count, text: z.string() }).optional(),
  /** True if sections were requested and the answer was accepted as plain text. */
  asPlainText: z.literal(true).optional(),
})
/** Which strategy, model, prompt and parameters produced a summary, and its usage. */
export type SummarizerRecord = z.infer<typeof summarizerRecordSchema>

/** Upcasts the field `summarizer` to the version with today's names. */
export const summarizerRenamed = within('summarizer', renamed('standIn', 'fallback'))

/** The names that identify a summarizer. */
export const namesOfSummarizer = ({
  strategy,
  provider,
  model,
}: Pick<SummarizerRecord, 'strategy' | 'provider' | 'model'>): ValuesByField => ({
  'summarizer.strategy': strategy,
  'summarizer.provider': provider,
  'summarizer.model': model,
})

/** The names and the token counts from outside in an event with a summary. */
export const summaryFromOutside = {
  namesFromOutside: ({ summarizer }: { readonly summarizer: SummarizerRecord }): ValuesByField => ({
    ...namesOfSummarizer(summarizer),
    'summarizer.prompt.name': summarizer.prompt.name,
  }),
  tokensFromOutside: ({ summarizer: { usage } }: { readonly summarizer: SummarizerRecord }): ValuesByField => ({
    'summarizer.usage.promptTokens': usage?.promptTokens,
    'summarizer.usage.completionTokens': usage?.completionTokens,
  }),
}
