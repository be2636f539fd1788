/** The reason for a cycle. */
import { z } from 'zod'

export const triggerSchema = z.enum(['soft', 'hard', 'manual'])
export type Trigger = z.infer<typeof triggerSchema>
