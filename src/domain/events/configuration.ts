/** The settings that a conversation or an edition goes by. */
import { z } from 'zod'
import { policySchema, policySettingsSchema } from '../values/policy.js'
import { count, id } from './fields.js'

export const configurationSchema = z.object({
  policy: policySchema,
  /** What was set by somebody; the rest of `policy` are defaults. */
  settings: policySettingsSchema,
  rendererVersion: count,
  estimator: id,
  /** Tenant or owner; never changes. */
  scope: z.string().optional(),
})
export type Configuration = z.infer<typeof configurationSchema>
