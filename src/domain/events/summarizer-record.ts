/** How a summary was made: by whom, with which request and prompt, and what it took. */
import { z } from 'zod'
import { count, hash, id } from './fields.js'

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
  responseId: z.string().optional(),
  /** `cachedTokens` are those of the prompt that the provider had in its cache, where it told. */
  usage: z.object({ promptTokens: count, completionTokens: count, cachedTokens: count.optional() }).optional(),
  durationMs: z.number().nonnegative(),
  /** True where the extractive strategy made it as the fallback: the summarizer failed at the hard limit. */
  standIn: z.boolean().optional(),
  /**
   * True where nobody was asked: a summary that was recorded before for the same `requestHash`, or for this
   * conversation's edition, is taken over.
   */
  reused: z.boolean().optional(),
})
/** Who wrote a summary, and with what: strategy, model, prompt, parameters, and what it took. */
export type SummarizerRecord = z.infer<typeof summarizerRecordSchema>
