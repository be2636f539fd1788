/** Positions in another program's transcript. */
import { z } from 'zod'
import { count, id } from './fields.js'

/** A file and a position in it: a line, counted from 1, or a path in a file that is one JSON value. */
export const whereSchema = z.object({ file: id, line: count.optional(), path: z.string().optional() })
export type SourcePlace = z.infer<typeof whereSchema>

/** Usage of a model call, as reported by the program. Missing values are absent. Cost in US dollars. */
export const reportedUsageSchema = z.object({
  inputTokens: count.optional(),
  outputTokens: count.optional(),
  cacheReadTokens: count.optional(),
  cacheWriteTokens: count.optional(),
  reasoningTokens: count.optional(),
  cost: z.number().nonnegative().optional(),
})
