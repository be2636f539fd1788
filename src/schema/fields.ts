/** Fields that many routes have. */
import { z } from 'zod'
import { revisionInJson, revisionOrNoneInJson } from '../domain/values/revision.js'
import type { MessageInput } from '../domain/values/chat-message.js'
import { fieldsWith, messageFields, roleSchema } from '../domain/values/message.js'
import { policySettingsSchema, type PolicySettings } from '../domain/values/policy-settings.js'
import { parsedByLedger } from './answer.js'

/** A revision or a position: a number in the program, decimal digits in JSON. */
export const revision = revisionInJson.meta({
  id: 'Revision',
  type: 'string',
  pattern: '^\\d{1,16}$',
  description: 'A revision in a conversation or a position in the log, from 0',
  example: '12',
})

/** A revision or a position, or -1 before the first event. */
export const revisionOrNone = revisionOrNoneInJson.meta({
  type: 'string',
  pattern: '^(-1|\\d{1,16})$',
  description: 'A revision or a position; -1 before the first event',
})

/** The conversation in an address. */
export const ofConversation = z.object({
  conversation: z.string().min(1).meta({ description: 'Id of the conversation', example: 'run-7' }),
})

/** A whole number within bounds, in an address. */
export const whole = (least: number, most: number, description: string): z.ZodType<number, string> =>
  z
    .string()
    .regex(/^\d{1,9}$/u, `must be a whole number from ${String(least)} to ${String(most)}`)
    .transform(Number)
    .refine((value) => value >= least && value <= most, {
      message: `must be a whole number from ${String(least)} to ${String(most)}`,
    })
    .meta({ type: 'integer', minimum: least, maximum: most, description })

/** Messages or items of one body. */
export const MOST_LISTED = 10_000

/** How much a page has at most. */
export const limit = (most: number, usual: number): z.ZodOptional<z.ZodType<number, string>> =>
  whole(1, most, `Maximum number of items. Default ${String(usual)}`).optional()

/** Where the next page begins: `next` of the page before it. */
export const cursor = z
  .string()
  .min(1)
  .optional()
  .meta({ description: '`next` of the previous page; absent for the first page' })

/** Cursor of the next page. */
export const next = z.string().optional().meta({ description: '`cursor` of the next page; absent on the last one' })

/** A moment, as the library takes it. */
export const at = z.string().min(1).meta({
  description:
    'A revision in digits, an instant as ISO 8601 with its zone, or the id of a message; `message:ID` for an id that looks like one of these',
  example: '12',
})

/** A time, ISO 8601 in UTC. */
export const time = z.string().meta({ description: 'ISO 8601, UTC', example: '2026-03-01T12:30:00.000Z' })

/** A list of ids of conversations, or all of them. */
export const conversations = z.union([z.literal('all'), z.array(z.string().min(1)).min(1)])

/** Settings of a policy; the ledger says which there are, and what is wrong with one. */
export const policy = parsedByLedger<PolicySettings>(
  z.record(z.string(), z.unknown()).meta({
    id: 'PolicySettings',
    description: 'Policy settings',
    properties: z.toJSONSchema(policySettingsSchema).properties,
  }),
)

/** A field of a message, by its name in input. */
function outlineOf(field: ReturnType<typeof fieldsWith<'input'>>[number]): readonly [string, z.ZodType] {
  const { name, value, description } = messageFields[field].input
  const { $schema: _dialect, ...shape } = z.toJSONSchema(value, { io: 'input', unrepresentable: 'any' })
  return [
    name,
    z
      .unknown()
      .optional()
      .meta({ ...shape, description }),
  ]
}

/** A message, as the OpenAI chat API has it, with what the ledger takes besides. The ledger says what is wrong with one. */
export const message = parsedByLedger<MessageInput>(
  z
    .looseObject({ ...Object.fromEntries(fieldsWith('input').map(outlineOf)), role: roleSchema })
    .meta({ id: 'Message' }),
)

/** The text of a checkpoint. */
export const note = z.string().min(1).meta({ description: 'A signed note (c2sp.org/tlog-checkpoint)' })

/** A checkpoint to compare the log with. */
export const against = z
  .strictObject({
    note,
    signer: z.string().min(1).optional().meta({
      description:
        'The required signer: a public key as PEM text, or the fingerprint of a key that the ledger has used',
    }),
    witnesses: z.array(z.string().min(1)).optional().meta({ description: 'Verifier keys of required witnesses' }),
  })
  .meta({ id: 'GivenCheckpoint' })
