/** Where another program's transcript says something. */
import { z } from 'zod'
import { count, id } from './fields.js'

/** A file, and the place in it: lines count from 1, a file that is one JSON value has a path. */
export const whereSchema = z.object({ file: id, line: count.optional(), path: z.string().optional() })
export type SourcePlace = z.infer<typeof whereSchema>

/** What a call of a model took, as the program tells it; what it does not tell is left out. Cost in US dollars. */
export const toldUsageSchema = z.object({
  inputTokens: count.optional(),
  outputTokens: count.optional(),
  cacheReadTokens: count.optional(),
  cacheWriteTokens: count.optional(),
  reasoningTokens: count.optional(),
  cost: z.number().nonnegative().optional(),
})
