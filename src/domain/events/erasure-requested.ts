import { z } from 'zod'
import { short } from './lines.js'
import { many } from '../text/count.js'
import { defineEvent } from './event-definition.js'
import { count, id, revision } from './fields.js'
import { NO_TEXTS } from './texts.js'
import { saysNoMore } from './upcast.js'

// Version 2: `fingerprints`.
export const erasureRequested = defineEvent({
  description:
    'texts of the conversation will be erased: the plan, recorded before a key is destroyed, so that an interrupted erasure continues',
  version: 2,
  activity: 'delete',
  withoutContent: ['erasureId', 'scope', 'subject', 'messages', 'derived', 'editions', 'epoch'],
  texts: NO_TEXTS,
  schema: z.object({
    erasureId: id,
    scope: z.enum(['conversation', 'message', 'subject']),
    /** Keyed pseudonym of the person, if the scope is a person. */
    subject: id.optional(),
    reason: id,
    /** Permits erasing messages that a retention rule keeps. */
    legalBasis: id.optional(),
    /** The messages; absent if all messages of the conversation are erased. */
    messages: z.array(z.object({ messageId: id, revision })).optional(),
    /** Units of the keys to remove, also those of messages; absent if the whole conversation is erased. */
    derived: z.array(id).optional(),
    /** Editions of which a summary is erased. */
    editions: z.array(id),
    /**
     * Texts that are recorded after this event have the keys of this epoch or of a later one. 0 if the whole conversation
     * is erased.
     */
    epoch: count,
    /**
     * Keyed fingerprints of the erased messages, by which an import recognizes them. `verify` compares them with the
     * stored ones. Absent in version 1.
     */
    fingerprints: z.array(id).optional(),
  }),
  upcasters: { 1: saysNoMore },
  describe: ({ scope, messages, reason }) =>
    `${scope === 'conversation' ? 'the whole conversation' : many(messages?.length ?? 0, 'message')} will be erased: ${short(reason)}`,
})
