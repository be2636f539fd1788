/** The settings of a conversation or an edition. */
import { isRecord } from '../../lib/is-record.js'
import { z } from 'zod'
import { policySchema, policySettingsSchema } from '../values/policy.js'
import { count, id } from './fields.js'
import { type Upcast } from './upcast.js'

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

/** Upcasts a stored configuration: contexts of older programs followed the rules of OpenAI's API. */
export const upcastConfiguration: Upcast = (stored) =>
  isRecord(stored['policy']) ? { ...stored, policy: { ...stored['policy'], shape: 'openai' } } : stored

/** Upcasts the field `configuration` of an event. */
export const withShape: Upcast = (data) =>
  isRecord(data['configuration']) ? { ...data, configuration: upcastConfiguration(data['configuration']) } : data
