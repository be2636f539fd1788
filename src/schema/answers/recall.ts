/** A note for an agent whose context was compacted. */
import { z } from 'zod'
import { count, oneOf, optional, record, tokens } from '../answer.js'
import { revision } from '../fields.js'

const section = oneOf('rules', 'work', 'decisions', 'findings', 'commands', 'files', 'errors', 'names', 'results')

/** The result of `recall`. */
export const recall = record({
  conversationId: z.string(),
  revision,
  compactions: count,
  text: z.string(),
  tokens,
  entries: z.array(record({ section, text: z.string(), revision: optional(revision) })),
  omitted: record({
    rules: optional(count),
    work: optional(count),
    decisions: optional(count),
    findings: optional(count),
    files: optional(count),
    commands: optional(count),
    errors: optional(count),
    names: optional(count),
    results: optional(count),
  }),
  statedRules: z.array(record({ text: z.string(), revision })),
}).meta({ id: 'Recall' })
