/** Facts as they are recorded, as server-sent events in the shape of CloudEvents. */
import { z } from 'zod'
import { ofConversation, revision } from '../fields.js'
import { route } from '../route.js'

const LAST = { 'last-event-id': 'Resumes after this event, as a browser does after a lost connection' }

export const streamEvents = route({
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

export const streamConversationEvents = route({
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
