import { z } from 'zod'
import { many } from '../text/count.js'
import { defineEvent } from './event-definition.js'
import { count, hash, id, revision } from './fields.js'
import { NO_TEXTS } from './texts.js'

export const rulesReviewed = defineEvent({
  description:
    'a model read a part of the conversation: the rules that it found, and the calls that broke one; each quotation was compared with the messages',
  version: 1,
  effect: 'none',
  activity: 'update',
  label: 'Rules reviewed',
  withoutContent: [
    'previous',
    'from',
    'upTo',
    'known',
    'rules',
    'repeated',
    'ended',
    'breaks',
    'summaries',
    'reviewer',
  ],
  // The event has places in messages and no words of them, so an erased message takes its rules with it.
  texts: NO_TEXTS,
  schema: z.object({
    /** Revision of the newest review when the model was asked. If another one came meanwhile, this one is not used. */
    previous: revision.optional(),
    /** The first event that was read. */
    from: revision,
    /** The last event that was read. */
    upTo: revision,
    /** Ids of earlier rules that the model was asked about: of reviews before, added, or confirmed. */
    known: z.array(id),
    /** Each rule as a part of the user's words in a message. */
    rules: z.array(z.object({ id, revision, start: count, end: count })),
    /** Messages in which the user stated a rule again. */
    repeated: z.array(z.object({ rule: id, revision })),
    /** Messages in which the user took a rule back. */
    ended: z.array(z.object({ rule: id, revision })),
    /** Calls that broke a rule: the message, and the number of the call in it, from 1; 0 is its text. */
    breaks: z.array(z.object({ rule: id, revision, call: count })),
    /**
     * Whether the summary of a compaction says a rule, and its line, from 1. Such an event has read no messages: `from` is
     * the event after `upTo`.
     */
    summaries: z
      .array(
        z.object({
          rule: id,
          /** Revision of the event that completed the compaction. */
          revision,
          presence: z.enum(['there', 'changed', 'gone', 'unclear']),
          line: count.optional(),
        }),
      )
      .optional(),
    /** The model, its prompt, and what it cost. */
    reviewer: z.object({
      provider: id,
      model: id,
      parameters: z.record(z.string(), z.unknown()),
      prompt: z.object({ name: id, sha256: hash }),
      /** Statements of the model that do not follow from the messages, and were left out. */
      rejected: count,
      usage: z.object({ promptTokens: count, completionTokens: count }).optional(),
      durationMs: z.number().nonnegative(),
    }),
  }),
  namesFromOutside: ({ reviewer }) => ({
    'reviewer.provider': reviewer.provider,
    'reviewer.model': reviewer.model,
  }),
  tokensFromOutside: ({ reviewer: { usage } }) => ({
    'reviewer.usage.promptTokens': usage?.promptTokens,
    'reviewer.usage.completionTokens': usage?.completionTokens,
  }),
  describe: ({ rules, breaks, reviewer }) =>
    `${many(rules.length, 'rule')} and ${many(breaks.length, 'break')} found by ${reviewer.provider} ${reviewer.model}`,
  describeShortly: ({ rules, breaks }) => `${many(rules.length, 'rule')} and ${many(breaks.length, 'break')} found`,
})
