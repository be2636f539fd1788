/**
 * The working state of a conversation: what an agent still has to know about the compacted messages, as items with ids
 * and sourceRevisions. Each summary records the operations that change it, so the state at any revision is the fold of them.
 */
import { z } from 'zod'
import { count, id, revision } from './fields.js'

/** The kinds of items, in the order in which the view shows them. */
export const ITEM_KINDS = [
  'rule',
  'statement',
  'open',
  'progress',
  'decision',
  'value',
  'result',
  'error',
  'file',
  'fact',
] as const
/** The kind of an item of the working state. */
export type StateItemKind = (typeof ITEM_KINDS)[number]

const words = {
  /** The text. A rule or a statement has the words of the user. */
  text: z.string().min(1),
  /** Revisions of the messages that it rests on. */
  sourceRevisions: z.array(revision).min(1),
  /** For a decision or a rule: its reason. */
  reason: z.string().optional(),
  /** For an open item: the next step. */
  next: z.string().optional(),
  files: z.array(z.string()).optional(),
}

const stateItemSchema = z.object({
  /** A letter for the kind and the revision of the first source, as `R163`. */
  id,
  kind: z.enum(ITEM_KINDS),
  by: z.enum(['user', 'agent', 'tool']),
  ...words,
  /** The importance, from 0 to 99. If not all items fit, those with less are omitted first. */
  weight: count.max(99),
  /** A shorter form of the text, for a small view. */
  brief: z.string().optional(),
  /** The day of the message, as `2026-01-31`. */
  day: z.string().optional(),
  /** Its subject, if a later item about the same replaces it: a path, a command. */
  about: z.string().optional(),
  /** It holds until a file is changed: the result of a build or of tests. */
  untilEdit: z.literal(true).optional(),
  /** The first of the statements that this one corrects. */
  corrects: id.optional(),
  /** Revision of the message that closed it, took it back or refuted it. */
  endedAt: revision.optional(),
})
/** An item of the working state. */
export type StateItem = z.infer<typeof stateItemSchema>

export const stateOperationSchema = z.discriminatedUnion('op', [
  z.object({ op: z.literal('add'), item: stateItemSchema }),
  z.object({ op: z.literal('replace'), id, ...words }),
  /** The statement `by` corrects the item: both are shown, or only `by`. */
  z.object({ op: z.literal('correct'), id, by: id }),
  z.object({ op: z.literal('close'), id, endedAt: revision }),
  /** A newer item takes its place, or it does not fit. */
  z.object({ op: z.literal('drop'), id }),
])
/** One change of the working state. */
export type StateOperation = z.infer<typeof stateOperationSchema>

/** An operation of a model that was not applied, with the reason. */
export const rejectedOperationSchema = z.object({ operation: z.string(), reason: z.string() })
export type RejectedOperation = z.infer<typeof rejectedOperationSchema>

export const workingStateSchema = z.object({
  /** In the order in which they were added. */
  items: z.array(stateItemSchema),
})
/** The working state. */
export type WorkingState = z.infer<typeof workingStateSchema>

export const NO_STATE: WorkingState = { items: [] }
