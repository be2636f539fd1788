/** The input of the process that records a connection. */
import { z } from 'zod'

export const recorderSettings = z.object({
  /** The flags of the command. */
  flags: z.record(z.string(), z.unknown()),
  /** Name of the connection. */
  name: z.string(),
  scope: z.string().optional(),
  /** Whether notes are made after compactions. */
  recall: z.boolean(),
})
export type RecorderSettings = z.infer<typeof recorderSettings>
