import { z } from 'zod'
import { defineEvent } from './event-definition.js'
import { count, id, revision } from './fields.js'

/** What is looked for in the messages that a side compacted; what a reader has to know first stands in front. */
export const lossKinds = ['pinned', 'constraints', 'files', 'identifiers', 'numbers'] as const

/**
 * Kept: a summary in force names it, or a message with it is live. Shown: it stands in the context that the model gets.
 */
const levelsOf = <Schema extends z.ZodType>(schema: Schema) => z.object({ kept: schema, shown: schema })
const bothSides = <Schema extends z.ZodType>(schema: Schema) => z.object({ against: schema, edition: schema })

const lossList = z.object({
  /** All of them. */
  count,
  /** The first ones, with the message that says it first and how many say it. */
  items: z.array(z.object({ text: z.string(), messageId: id, mentions: count })),
})

const lossesOfKind = z.object({
  kind: z.enum(lossKinds),
  /** Distinct ones in the messages that either side compacted. */
  total: count,
  against: levelsOf(count),
  edition: levelsOf(count),
  /** What the side that is compared with has, and the edition has not. */
  lost: levelsOf(lossList),
  /** What the edition has, and the side that it is compared with has not. */
  gained: levelsOf(lossList),
})

const figures = z.object({
  contextTokens: count,
  viewTokens: count,
  batches: count,
  depth: count,
  cycles: count,
  messagesCompressed: count,
  calls: count,
  tokensBought: count,
})

export const editionCompared = defineEvent({
  says: 'what an edition keeps, shows and loses beside what was in force, or beside another edition; the lists are capped, the counts are not',
  version: 1,
  schema: z.object({
    editionId: id,
    editionRevision: revision,
    /** The edition that it is compared with; absent where it is what was in force. */
    against: z.object({ editionId: id, editionRevision: revision }).optional(),
    /** Both sides are as of this revision of the conversation. */
    conversationRevision: revision,
    figures: bothSides(figures),
    /** Lines of the two views. */
    viewLines: z.object({ same: count, removed: count, added: count }),
    losses: z.array(lossesOfKind),
    /** Messages that labelled questions ask for, and whether they can be come by. */
    evidence: z
      .object({ questions: count, total: count, against: count, edition: count, lost: lossList, gained: lossList })
      .optional(),
  }),
})
