/** A summary by its named sections, where the strategy gives them. */
import { z } from 'zod'

export const sectionsSchema = z.object({
  completedWork: z.array(z.object({ file: z.string(), action: z.string(), description: z.string() })),
  decisions: z.array(z.string()),
  currentState: z.array(z.string()),
  pendingWork: z.array(z.string()),
  errors: z.array(z.string()),
})
/** The parts of a summary that a strategy wrote in sections. */
export type Sections = z.infer<typeof sectionsSchema>
