/**
 * THE facts: one schema each, types inferred from them. A stream `conversation-<id>`, `edition-<id>-<conversationId>`
 * or `prompt-<SHA-256>` is
 * made of these and of nothing else, and every one names what it needs to be understood alone.
 *
 * Revisions are `bigint` in the program and decimal strings in JSON. To change a shape: a new version here, an upcaster
 * in
 * `upcasters.ts`, and the old fixture under `test/fixtures/stored-events/` stays.
 */
import { z } from 'zod'
import { answersSchema, contentSchema, openRecordSchema, roleSchema, toolCallSchema } from '../values/message.js'
import { policySchema, policySettingsSchema } from '../values/policy.js'

const id = z.string().min(1)
const time = z.iso.datetime()
const count = z.number().int().nonnegative()
const revision = z.string().regex(/^\d+$/).transform(BigInt)
const hash = z.string().regex(/^[0-9a-f]{64}$/)

/** What a summary was made with. */
export const summarizerRecordSchema = z.object({
  strategy: id,
  provider: id,
  model: id,
  parameters: z.record(z.string(), z.unknown()),
  prompt: z.object({ name: id, sha256: hash }),
  persona: z.object({ sha256: hash }).optional(),
  formatterVersion: count,
  /** SHA-256 over strategy, provider, model, parameters and the exact request. */
  requestHash: hash,
  responseId: z.string().optional(),
  usage: z.object({ promptTokens: count, completionTokens: count }).optional(),
  durationMs: z.number().nonnegative(),
  /** True where the extractive strategy stood in at the hard limit, because the summarizer failed. */
  standIn: z.boolean().optional(),
  /**
   * True where nobody was asked: a summary that was recorded before for the same `requestHash`, or for this
   * conversation's edition, is taken over.
   */
  reused: z.boolean().optional(),
})
/** How a summary was made: by whom, with which request and prompt, and what it took. */
export type SummarizerRecord = z.infer<typeof summarizerRecordSchema>

/** The named sections of a session summary, where the strategy gives them. */
export const sectionsSchema = z.object({
  completedWork: z.array(z.object({ file: z.string(), action: z.string(), description: z.string() })),
  decisions: z.array(z.string()),
  currentState: z.array(z.string()),
  pendingWork: z.array(z.string()),
  errors: z.array(z.string()),
})
/** A summary by its sections. */
export type Sections = z.infer<typeof sectionsSchema>

/** The settings that a conversation goes by. */
export const configurationSchema = z.object({
  policy: policySchema,
  /** What was set by somebody; the rest of `policy` are defaults. */
  settings: policySettingsSchema,
  rendererVersion: count,
  estimator: id,
  /** Tenant or owner; never changes. */
  scope: z.string().optional(),
})
export type Configuration = z.infer<typeof configurationSchema>

const span = { startTime: time, endTime: time, messageCount: count }

const conversationConfigured = configurationSchema

const messageAppended = z.object({
  messageId: id,
  role: roleSchema,
  content: contentSchema,
  name: z.string().optional(),
  toolCalls: z.array(toolCallSchema).readonly().optional(),
  toolCallId: z.string().optional(),
  createdAt: time,
  tokens: count,
  pinned: z.boolean().optional(),
  attributes: openRecordSchema.optional(),
  extra: openRecordSchema.optional(),
  answers: answersSchema.optional(),
  /**
   * True where it leads the conversation though other messages stand before it: an instruction in the place of one that
   * was withdrawn, or a first one.
   */
  leads: z.literal(true).optional(),
  /** The id that the host gave, where an earlier message has it: this one came in its place, under an id of its own. */
  givenId: id.optional(),
})

const messagesWithdrawn = z.object({
  /** Live until here. They stay in the log, and what came in their place is appended behind. */
  messages: z.array(z.object({ messageId: id, revision })).min(1),
  /** Said anew with other content, taken out, cut off at the end, or said anew in another order. */
  why: z.enum(['edited', 'removed', 'rewound', 'reordered']),
})

const messagePinned = z.object({ messageId: id, revision })
const messageUnpinned = z.object({ messageId: id, revision })

const chunkSummarized = z.object({
  chunkId: id,
  messageIds: z.array(id).min(1),
  firstRevision: revision,
  lastRevision: revision,
  ...span,
  /** The chunk whose summary was its background. */
  continues: z.string().optional(),
  summary: id,
  sections: sectionsSchema.optional(),
  summarizer: summarizerRecordSchema,
})

const batchArchived = z.object({
  batchId: id,
  label: id,
  depth: z.literal(0),
  ...span,
  firstRevision: revision,
  lastRevision: revision,
  messageIds: z.array(id).min(1),
  /** Header line and summary, for people and tools that know the format. */
  content: id,
  sections: sectionsSchema.optional(),
  tokens: count,
  chunkId: id,
})

const batchesResummarized = z.object({
  batchId: id,
  label: id,
  sourceBatchIds: z.array(id).min(2),
  depth: count.min(1),
  ...span,
  firstRevision: revision,
  lastRevision: revision,
  content: id,
  sections: sectionsSchema.optional(),
  tokens: count,
  summarizer: summarizerRecordSchema,
})

/** Of a chunk of messages, or of batches: one of the two lists is there. */
const summarySetAside = z.object({
  messageIds: z.array(id).min(1).optional(),
  sourceBatchIds: z.array(id).min(2).optional(),
  /** The chunk whose summary was its background. */
  continues: z.string().optional(),
  summary: id,
  sections: sectionsSchema.optional(),
  summarizer: summarizerRecordSchema,
})

/** What the next load needs from before the live window. */
export const carryForwardSchema = z.object({
  configuration: configurationSchema,
  messagesCompressed: count,
  /** Messages appended before this event, live ones included. */
  messagesAppended: count,
  /**
   * Messages that were withdrawn before this event; absent before the first. `folded` of them a batch covers: only an
   * edition, which folds by itself, has such.
   */
  withdrawn: z.object({ messages: count, folded: count }).optional(),
  originalTask: revision.optional(),
  leading: z.array(revision),
  /** Pinned messages, and ones that were unpinned and are not folded yet, from before the window. */
  kept: z.array(z.object({ revision, pinned: z.boolean() })),
  batches: z.array(z.object({ batchId: id, revision })),
  chunks: z.array(revision),
  /** Calls that were folded before their result came; a result that comes names the batch. */
  foldedCalls: z.array(z.object({ callId: id, name: z.string(), batchId: id })),
  /**
   * Since when the batches are another line than the one before: the last adoption, reverted adoption or undone cycle.
   * Absent before the first.
   */
  line: z
    .object({
      since: revision,
      /** The edition in force, and the fact that adopted it; absent where the conversation's own batches are. */
      edition: z.object({ editionId: id, adoptedAt: revision }).optional(),
    })
    .optional(),
})
export type CarryForward = z.infer<typeof carryForwardSchema>

export const triggerSchema = z.enum(['soft', 'hard', 'manual'])
export type Trigger = z.infer<typeof triggerSchema>

const whySchema = z.object({
  trigger: triggerSchema,
  threshold: count,
  /** The settings whose product the threshold is. */
  terms: z.object({
    modelMaxTokens: count,
    systemReserve: count,
    outputReserve: count,
    safetyBuffer: count,
    contextBudget: z.number(),
  }),
})

/** What every fact says that closes the books. */
const origin = {
  /** The live window now starts at this revision. */
  windowStart: revision,
  tokensBefore: count,
  tokensAfter: count,
  carried: carryForwardSchema,
  /** SHA-256 of the canonical JSON of the messages of the context that this makes. */
  contextHash: hash,
  /** SHA-256 of the text of the view that this makes, so that it is recognized when it is given back. */
  viewHash: hash,
  /** The fact before this one that closed the books. */
  previous: revision.optional(),
}

const messagesPruned = z.object({
  cycle: count.min(1),
  ...origin,
  pruned: z.array(z.object({ batchId: id, messageIds: z.array(id).min(1) })).min(1),
  why: whySchema,
})

/** An active batch, whole, in a fact that puts into force what other facts recorded. */
const batchInForce = z.object({
  batchId: id,
  label: id,
  depth: count,
  ...span,
  firstRevision: revision,
  lastRevision: revision,
  content: id,
  sections: sectionsSchema.optional(),
  tokens: count,
  /** The fact that recorded it: in the edition's stream where one is named, else in the conversation's. */
  origin: z.object({ editionId: id.optional(), revision }),
})

/**
 * What a fact says that puts other batches and another window into force. It holds all that comes back whole, so that
 * it is understood alone.
 */
const replacement = {
  ...origin,
  /** Cycles that the batches in force took. */
  cycle: count,
  /** The active batches in order. */
  batches: z.array(batchInForce),
  /** Batches that were active and are not any more. */
  retired: z.array(id),
  /** Messages that are live again, in order. */
  restored: z.array(messageAppended.extend({ revision })),
  /** Messages that were live and are covered by the batches now, in order. */
  left: z.array(id),
}

const editionAdopted = z.object({
  editionId: id,
  /** The edition's last fact, and the conversation's last one that it has seen. */
  editionRevision: revision,
  conversationRevision: revision,
  ...replacement,
})

const editionReverted = z.object({
  /** The edition that is in force no more. */
  editionId: id,
  /** The one that is in force again; absent where the conversation's own batches are. */
  restores: id.optional(),
  /** The fact that had adopted the edition: the batches are those before it. */
  adoptedAt: revision,
  ...replacement,
})

const cycleUndone = z.object({
  /** The cycles that were undone, and the facts that they had ended with. */
  undone: z.array(z.object({ cycle: count.min(1), revision })).min(1),
  /** The soft limit starts no cycle before the conversation has so many messages. */
  restsUntilMessages: count,
  ...replacement,
})

const editionStarted = z.object({
  editionId: id,
  conversationId: id,
  configuration: configurationSchema,
  /** Whose summaries it is made of. */
  summarizer: z.object({ strategy: id, provider: id, model: id }),
  /** The conversation's last fact when it was begun. */
  conversationRevision: revision,
  /**
   * Messages that were pinned then. They are never folded, though the pin came later than the edition comes to them.
   */
  pinned: z.array(revision),
})

const editionAdvanced = z.object({
  /** The edition has seen the conversation's facts up to this one; what follows was decided on them. */
  conversationRevision: revision,
})

const editionDropped = z.object({ editionId: id })

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

const editionCompared = z.object({
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
})

const compactionFailed = z.object({
  step: z.enum(['chunk', 'resummarize']),
  failure: id,
  detail: z.string(),
  /** `ahead`: no limit asked for it yet. */
  trigger: z.enum([...triggerSchema.options, 'ahead']),
  /** Failures in a row, this one included. */
  attempt: count.min(1),
  /** The next attempt waits for so many further messages, unless it is asked for by hand. */
  retryAfterMessages: count,
  strategy: id,
  provider: id,
  model: id,
  requestHash: z.string().optional(),
})

const compactionCouldNotHelp = z.object({
  reason: z.enum(['recent-messages', 'pinned-and-leading', 'too-little-to-fold', 'open-calls', 'summaries']),
  tokens: count,
  limit: count,
  trigger: triggerSchema,
  /** Messages that it may not fold. */
  messageIds: z.array(id),
})

const promptRegistered = z.object({ name: id, kind: z.enum(['template', 'persona']), sha256: hash, text: z.string() })

/** Every type of fact, with the schema of its data and the version that is written today. */
export const eventSchemas = {
  ConversationConfigured: { version: 1, schema: conversationConfigured },
  MessageAppended: { version: 2, schema: messageAppended },
  MessagesWithdrawn: { version: 1, schema: messagesWithdrawn },
  MessagePinned: { version: 1, schema: messagePinned },
  MessageUnpinned: { version: 1, schema: messageUnpinned },
  ChunkSummarized: { version: 1, schema: chunkSummarized },
  BatchArchived: { version: 1, schema: batchArchived },
  BatchesResummarized: { version: 1, schema: batchesResummarized },
  SummarySetAside: { version: 1, schema: summarySetAside },
  MessagesPruned: { version: 2, schema: messagesPruned },
  CompactionFailed: { version: 2, schema: compactionFailed },
  CompactionCouldNotHelp: { version: 1, schema: compactionCouldNotHelp },
  EditionStarted: { version: 1, schema: editionStarted },
  EditionAdvanced: { version: 1, schema: editionAdvanced },
  EditionDropped: { version: 1, schema: editionDropped },
  EditionCompared: { version: 1, schema: editionCompared },
  EditionAdopted: { version: 2, schema: editionAdopted },
  EditionReverted: { version: 2, schema: editionReverted },
  CycleUndone: { version: 2, schema: cycleUndone },
  PromptRegistered: { version: 1, schema: promptRegistered },
} as const

/** The names of all facts. */
export type EventType = keyof typeof eventSchemas
/** The data of one type of fact. */
export type EventData<Type extends EventType> = z.infer<(typeof eventSchemas)[Type]['schema']>
/** A fact: its type and its data. */
export type Event = { [Type in EventType]: { readonly type: Type; readonly data: EventData<Type> } }[EventType]

/** The facts that streams begin with, each kind of stream with its own. */
const openingTypes = [
  'ConversationConfigured',
  'EditionStarted',
  'PromptRegistered',
] as const satisfies readonly EventType[]
/** The facts that no stream begins with. */
export const laterTypes: readonly string[] = Object.keys(eventSchemas).filter(
  (type) => !openingTypes.some((opening) => opening === type),
)

/** The facts that put other batches and another window into force. */
export const replacementTypes = [
  'EditionAdopted',
  'EditionReverted',
  'CycleUndone',
] as const satisfies readonly EventType[]
export type ReplacementType = (typeof replacementTypes)[number]
/** The facts that close the books: a load needs nothing from before the last one but what it names. */
export const originTypes = ['MessagesPruned', ...replacementTypes] as const
export type OriginType = (typeof originTypes)[number]

export const isEventType = (type: string): type is EventType => Object.hasOwn(eventSchemas, type)

/** What stands beside the data of every fact. */
export const metadataSchema = z.object({
  schemaVersion: count.min(1),
  correlationId: id,
  /** The command or fact that led to this one. */
  causationId: id,
  actor: id,
  /** Our clock; never goes back within a stream. */
  recordedAt: time,
  /** SHA-256 of this event and of its predecessor. */
  hash,
  previousHash: hash,
})
/** When, by whom and why a fact was recorded, and its place in the hash chain. */
export type Metadata = z.infer<typeof metadataSchema>

/** A fact and what the state takes from its place: recorded, or foreseen by a decision. */
export type PlacedEvent<Type extends EventType = EventType> = Extract<Event, { type: Type }> & {
  readonly revision: bigint
  readonly metadata: Pick<Metadata, 'hash' | 'recordedAt'>
}

/** A fact as it was recorded: where, when, by whom. */
export type RecordedEvent<Type extends EventType = EventType> = Extract<Event, { type: Type }> & {
  readonly stream: string
  readonly revision: bigint
  readonly position: bigint
  readonly id: string
  readonly metadata: Metadata
}
