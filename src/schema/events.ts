/** Facts as they are recorded, as server-sent events in the shape of CloudEvents. */
import { z } from 'zod'
import { ofConversation, revision, time } from './fields.js'
import { route } from './route.js'

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

const LAST = { 'last-event-id': 'Resumes after this event, as a browser does after a lost connection' }

/** All facts. */
export const streamEvents = route({
  id: 'streamEvents',
  method: 'get',
  path: '/v1/events',
  summary: 'Streams the events of all conversations within the key’s bound from a position on, then new ones',
  roles: ['audit'],
  reach: 'some',
  query: z.object({
    from: revision.optional().meta({ description: 'The first position. Default: events recorded from now on' }),
  }),
  headers: LAST,
  stream: 'events',
})

/** The facts of one conversation. */
export const streamConversationEvents = route({
  id: 'streamConversationEvents',
  method: 'get',
  path: '/v1/conversations/{conversation}/events',
  summary: 'Streams the events of one conversation from a revision on, then new ones',
  roles: ['audit', 'read'],
  reach: 'conversation',
  params: ofConversation,
  query: z.object({
    from: revision.optional().meta({ description: 'The first revision. Default: events recorded from now on' }),
  }),
  headers: LAST,
  stream: 'events',
})
