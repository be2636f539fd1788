/** Events as CloudEvents. */
import { z } from 'zod'
import { revision, time } from '../fields.js'

/** Prefix of the `type` of an event, before its name and the version of its schema. */
export const EVENT_TYPE = 'org.context-ledger.'

/** A fact in CloudEvents' JSON shape, 1.0. */
export const cloudEvent = z
  .looseObject({
    specversion: z.literal('1.0'),
    id: z.string().meta({ description: 'Id of the event' }),
    source: z.string().meta({ description: 'The ledger' }),
    type: z.string().meta({ example: `${EVENT_TYPE}MessageAppended.v1` }),
    subject: z.string().meta({ description: 'The conversation' }),
    time,
    datacontenttype: z.literal('application/json'),
    sequence: revision.meta({ description: 'Position of the event in the log' }),
    revision: revision.meta({ description: 'Revision of the event in the conversation' }),
    actor: z.string(),
    correlationid: z.string(),
    causationid: z.string(),
    hash: z.string(),
    previoushash: z.string(),
    data: z.looseObject({}),
  })
  .meta({ id: 'CloudEvent' })
