/** A note for an agent whose context was compacted. */
import { z } from 'zod'
import { count, fieldsFor, oneOf, optional, record, tokens } from '../answer.js'
import { revision } from '../fields.js'

const SECTIONS = ['rules', 'work', 'words', 'decisions', 'facts', 'results', 'errors', 'files'] as const

/** The result of `recall`. */
export const recall = record({
  conversationId: z.string(),
  revision,
  compactions: count,
  text: z.string(),
  tokens,
  entries: z.array(record({ section: oneOf(...SECTIONS), text: z.string(), revision: optional(revision) })),
  omitted: record(fieldsFor(SECTIONS, optional(count))),
  statedRules: z.array(record({ text: z.string(), revision })),
}).meta({ id: 'Recall' })
