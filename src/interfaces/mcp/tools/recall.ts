import { z } from 'zod'
import { LEAST_NOTE_TOKENS, NOTE_TOKENS } from '../../../domain/values/recall-note.js'
import { QUOTATION, quotation } from '../quotation.js'
import { recall as recallCall } from '../../../schema/calls/history.js'
import { READS, toolOfConversation } from '../tool.js'

/** JSON characters of a token in the worst case, and of the other fields of the answer. */
const CHARACTERS_PER_TOKEN = 8
const OTHER_CHARACTERS = 1_000

export const recall = toolOfConversation(
  {
    name: 'recall',
    title: 'What your context lacks after a compaction',
    description:
      'A short note of the recorded content that the context lacks since it was compacted: rules of the user, open work, decisions, findings, commands and how they ended, files under change, errors. Original words with their revisions; computed without a model. Empty if nothing is missing.',
    annotations: READS,
    calls: [recallCall],
    input: {
      tokens: z
        .number()
        .int()
        .min(LEAST_NOTE_TOKENS)
        .max(1_000_000)
        .optional()
        .describe(`The most tokens of the note. Default: ${String(NOTE_TOKENS)}`),
    },
    output: z.object({
      ...quotation,
      conversationId: z.string(),
      revision: z.string(),
      compactions: z.number().int(),
      text: z.string(),
      tokens: z.number().int(),
      entriesLeftOut: z.number().int(),
    }),
  },
  async ({ tokens = NOTE_TOKENS }, { ledger, conversationId, limits, rules }) => {
    const maxTokens = Math.floor((limits.answerCharacters - OTHER_CHARACTERS) / CHARACTERS_PER_TOKEN)
    const { revision, compactions, text, ...note } = await ledger.recall(conversationId, {
      tokens: Math.min(tokens, maxTokens),
      rules,
    })
    return {
      quotation: QUOTATION,
      conversationId,
      revision: revision.toString(),
      compactions,
      text,
      tokens: note.tokens,
      entriesLeftOut: Object.values(note.omitted).reduce((sum, count) => sum + count, 0),
    }
  },
)
