/** The settings of a conversation or an edition. */
import { z } from 'zod'
import { policySchema, policySettingsSchema } from '../values/policy-settings.js'
import type { ValuesByField } from './event-definition.js'
import { count, id } from './fields.js'
import { inOrder, renamed, within } from './upcast.js'

export const configurationSchema = z.object({
  policy: policySchema,
  /** The settings that a user set; the rest of `policy` are defaults. */
  settings: policySettingsSchema,
  rendererVersion: count,
  estimator: id,
  /** Tenant or owner; never changes. */
  scope: z.string().optional(),
})
export type Configuration = z.infer<typeof configurationSchema>

/** The names that a caller chose. */
export const namesInConfiguration = ({ scope, estimator, settings }: Configuration): ValuesByField => ({
  scope,
  estimator,
  'policy.model': settings.model,
})

/** Upcasts a stored configuration: contexts of older programs followed the rules of OpenAI's API. */
export const upcastConfiguration = within('policy', (policy) => ({ ...policy, shape: 'openai' }))

/** Upcasts a configuration to the version with today's names of settings. */
export const configurationRenamed = inOrder(
  within('policy', renamed('standIn', 'fallback')),
  within('settings', renamed('standIn', 'fallback')),
)

/** Upcasts the field `configuration` of an event. */
export const withShape = within('configuration', upcastConfiguration)
