import { z } from 'zod'
import { count as countText, many } from '../text/count.js'
import { defineEvent } from './event-definition.js'
import { count, id, revision } from './fields.js'
import { wholeTexts } from './texts.js'

/** The kinds of details to look for in the messages that each side compacted, the most important first. */
export const lossKinds = ['pinned', 'constraints', 'files', 'identifiers', 'numbers'] as const

/** Kept: in an active summary or in a live message. Shown: in the context that the model receives. */
const levelsOf = <Schema extends z.ZodType>(schema: Schema) => z.object({ kept: schema, shown: schema })
const bothSides = <Schema extends z.ZodType>(schema: Schema) => z.object({ against: schema, edition: schema })

const lossList = z.object({
  /** Number of all items. */
  count,
  /** The first items, each with the first message that states it and the number of messages that do. */
  items: z.array(z.object({ text: z.string(), messageId: id, mentions: count })),
})

const lossesOfKind = z.object({
  kind: z.enum(lossKinds),
  /** Distinct items in the messages that either side compacted. */
  total: count,
  against: levelsOf(count),
  edition: levelsOf(count),
  /** Items that only the other side has. */
  lost: levelsOf(lossList),
  /** Items that only the edition has. */
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
  description:
    'which details an edition keeps, shows and loses, compared with the state in force or with another edition; the lists are limited, the counts are complete',
  version: 1,
  stream: 'edition',
  effect: 'none',
  activity: 'create',
  withoutContent: ['editionId', 'editionRevision', 'against', 'conversationRevision', 'figures', 'viewLines'],
  texts: wholeTexts({ losses: 'list', evidence: 'optional' }),
  schema: z.object({
    editionId: id,
    editionRevision: revision,
    /** The edition on the other side; absent if the other side was in force. */
    against: z.object({ editionId: id, editionRevision: revision }).optional(),
    /** Both sides are as of this revision of the conversation. */
    conversationRevision: revision,
    figures: bothSides(figures),
    /** Lines of the two views. */
    viewLines: z.object({ same: count, removed: count, added: count }),
    losses: z.array(lossesOfKind),
    /** Messages that labelled questions ask for, and whether they can be found. */
    evidence: z
      .object({ questions: count, total: count, against: count, edition: count, lost: lossList, gained: lossList })
      .optional(),
  }),
  describe: ({ against, losses, conversationRevision }) => {
    const lost = losses.reduce((sum, kind) => sum + kind.lost.kept.count, 0)
    const all = losses.reduce((sum, kind) => sum + kind.total, 0)
    const side = against === undefined ? 'the active context' : `edition ${against.editionId}`
    return `compared with ${side} as of revision ${String(conversationRevision)}: of ${many(all, 'name, number and constraint', 'names, numbers and constraints')} the edition loses ${countText(lost)} that the other side keeps`
  },
})
