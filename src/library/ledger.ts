/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The public interface of the library, for developers of agents, auditors and operators. Every function parses its
 * input, calls one use case, and throws a `LedgerError` if the use case fails.
 */
import type { InputOf, OptionsOf } from '../schema/call.js'
import type * as common from '../schema/calls/common.js'
import type * as conversationCalls from '../schema/calls/conversations.js'
import type * as editionCalls from '../schema/calls/editions.js'
import type * as historyCalls from '../schema/calls/history.js'
import type * as messageCalls from '../schema/calls/messages.js'
import type * as operatingCalls from '../schema/calls/operating.js'
import type { ForgottenTotals } from '../application/losses/totals.js'
import type { RecallNote } from '../application/recall/note.js'
import type { StatedRule } from '../application/recall/stated-rules.js'
import type {
  Handoff,
  HandoffOptions,
  ImportedTranscript,
  ImportTranscriptOptions,
  OpenTranscript,
  OpenTranscriptOptions,
  ReceivedTranscript,
  ReceiveTranscriptOptions,
} from './ledger-transcripts.js'
import type { Observation } from './ledger-observation.js'
import type { LedgerProofs } from './ledger-proofs.js'
import type { LedgerErasure } from './ledger-erasure.js'
import type { LedgerRetention } from './ledger-retention.js'
import type { LedgerRules } from './ledger-rules.js'
import type { LedgerSecrets } from './ledger-secrets.js'
import type { Filled } from '../../projections/read-models/archive-index/vector-filler.js'
import type { MissingVectors } from '../../projections/read-models/archive-index/vector-rows.js'
import type { RowsLag, ProjectionStatus } from '../../projections/engine/watch.js'
import type { Compaction } from '../application/compaction/compact.js'
import type { EditionComparisons } from '../application/editions/compare.js'
import type { Compressed } from '../application/compaction/compress.js'
import type { Difference } from '../application/history/difference.js'
import type { Explanation } from '../application/history/explanation.js'
import type { ConversationSummary, UnlistedConversation } from '../../projections/read-models/live-messages/queries.js'
import type { SearchHit } from '../application/search/search.js'
import type { TotalStats } from '../application/history/stats.js'
import type { ContextAsOf } from '../domain/compaction/context.js'
import type { LiveMessages } from '../application/history/time-travel.js'
import type { Undone } from '../application/editions/undo-and-revert.js'
import type { Verification } from '../application/audit/verify.js'
import type { WhatIf } from '../application/editions/what-if.js'
import type { RecordedEvent } from '../domain/events/index.js'
import type { MessageInput } from '../domain/values/chat-message.js'
import type { GroupTotals, Totals } from '../domain/reports/totals.js'
import type { LogOrigin } from '../ports/manifest.js'
import type { Chat, ChatOptions } from './chat-types.js'
import type { Editions, Prompts } from './ledger-editions.js'
import type { EditionsEvaluated } from './ledger-evaluation.js'
import type { ActorOptions, AppendOptions, AppendResult, ObserveOptions, WaitOptions } from './ledger-options.js'

export type { RebuildProgress } from '../../projections/engine/rebuild.js'
export type { FillProgress, Filled } from '../../projections/read-models/archive-index/vector-filler.js'
export type { MissingVectors } from '../../projections/read-models/archive-index/vector-rows.js'
export type { RowsLag as Behind, PartitionStatus, ProjectionStatus } from '../../projections/engine/watch.js'
export type { Compaction } from '../application/compaction/compact.js'
export type {
  ComparisonTotals,
  EditionComparison,
  EditionComparisons,
  EditionReport,
  LabelledQuestion,
  SkippedConversation,
} from '../application/editions/compare.js'
export type { Compressed } from '../application/compaction/compress.js'
export type { Difference } from '../application/history/difference.js'
export type {
  BatchOrigin,
  ChunkOrigin,
  ObservedOrigin,
  CycleOrigin,
  Explanation,
  OriginalMessage,
  PromptText,
  RecordedAt,
  TakeoverOrigin,
} from '../application/history/explanation.js'
export type { ConversationOrder } from '../domain/values/conversation-order.js'
export type { ConversationSummary, UnlistedConversation } from '../../projections/read-models/live-messages/queries.js'
export type * from './ledger-transcripts.js'
export type * from './ledger-observation.js'
export type * from './ledger-proofs.js'
export type * from './ledger-erasure.js'
export type * from './ledger-retention.js'
export type * from './ledger-rules.js'
export type * from './ledger-secrets.js'
export type * from './ledger-options.js'
export type { RecordedConversation } from '../application/importers/recorded-transcript.js'
export type { ForgottenCycle } from '../application/losses/cycles.js'
export type { ForgottenReport } from '../application/losses/forgotten.js'
export type { JudgedItem } from '../application/loss-report/judged-item.js'
export type { ForgottenTotal, ForgottenTotals } from '../application/losses/totals.js'
export type { Recovery, RecoveryGroup, RecoveryTotal } from '../application/loss-report/recovery.js'
export type { RecallSection } from '../domain/values/recall-note.js'
export type { RecallEntry } from '../application/recall/entries.js'
export type { StatedRule } from '../application/recall/stated-rules.js'
export type { SearchHit } from '../application/search/search.js'
export type { ConversationStats, Stats, TotalStats, UncountedConversation } from '../application/history/stats.js'
export type { GroupTotals, ModelTotals, TotalGroup, Totals } from '../domain/reports/totals.js'
export type { LineSource, Withdrawn } from '../application/history/trace-line.js'
export type { Context, ContextAsOf } from '../domain/compaction/context.js'
export type { LiveMessages } from '../application/history/time-travel.js'
export type { Undone } from '../application/editions/undo-and-revert.js'
export type { Problem, Verification, VerifyProgress } from '../application/audit/verify.js'
export type { Course, TriedPolicy, WhatIf, WhatIfRow } from '../application/editions/what-if.js'
export type * from '../domain/values/chat-message.js'
export type { Charge, Cost, PriceTable } from '../domain/reports/prices.js'
export type { ModelUse } from '../domain/reports/tally.js'
export type { ViewName } from '../domain/values/view-names.js'
export type { LogOrigin, Manifest, StreamHead } from '../ports/manifest.js'
export type { SummarizeMessages } from '../application/summarizers/from-function.js'
export type { AgentTool, AgentToolLimits, ToolInputSchema } from './agent-tools.js'
export type * from './chat-types.js'
export type {
  AiSdkResult,
  AnthropicMessage,
  Completion,
  CompletionStream,
  OpenAiCompletion,
  OpenAiResponse,
  RequestedCall,
} from '../application/model-apis/completions.js'
export type * from '../application/model-apis/contexts.js'
export type * from './ledger-editions.js'

export type * from './ledger-evaluation.js'

/** Options of a rebuild. */
export type RebuildOptions = OptionsOf<typeof operatingCalls.rebuild>

/** Options of a run that makes vectors. */
export type FillOptions = OptionsOf<typeof operatingCalls.fillVectors>

/** What to explain. Default: the whole view. */
export type ExplainOptions = OptionsOf<typeof historyCalls.explain>

/** Options of a verification. */
export type VerifyOptions = OptionsOf<typeof historyCalls.verify>

/** Options of a compaction. */
export type CompactOptions = OptionsOf<typeof historyCalls.compact>

/** The cycles to undo. */
export type UndoOptions = OptionsOf<typeof historyCalls.undo>

/** Another program's compaction of a conversation that the ledger manages. */
export type AmendingCompaction = OptionsOf<typeof messageCalls.amendingCompaction>

/** Messages to withdraw, and their replacements. */
export type AmendOptions = OptionsOf<typeof messageCalls.amend>

/** Options of a context. */
export type ContextOptions = OptionsOf<typeof messageCalls.context>

/** The moment to read. */
export type AsOfOptions = OptionsOf<typeof messageCalls.messages>

type DiffFields = OptionsOf<typeof historyCalls.diff>

/** Two moments (`to` is now by default), or one cycle, from directly before it to directly after it. */
export type DiffOptions = WaitOptions &
  ((Required<Pick<DiffFields, 'from'>> & Pick<DiffFields, 'to'>) | Required<Pick<DiffFields, 'cycle'>>)

/** Options of a search. Without a conversation or a scope, conversations without a scope are searched. */
export type LedgerSearchOptions = OptionsOf<typeof conversationCalls.search>

/** Result of a search. */
export interface SearchResult {
  /** Best first. */
  readonly hits: readonly SearchHit[]
  /** How far the read models lag, if other processes run the projections. Absent if they are up to date. */
  readonly behind?: RowsLag
  /**
   * With an embedding model: messages without a vector yet, which only their words find. Vectors are made in the
   * background. `problem` is the reason if that failed, or if this search used words only. Absent if every message has
   * its vector.
   */
  readonly vectors?: MissingVectors & { readonly problem?: string }
}

/** A list of conversations. */
export interface ConversationList {
  /** In the requested order; by default the most recent message first. */
  readonly conversations: readonly ConversationSummary[]
  /**
   * Conversations without a row because their first event could not be applied. Only in lists without a scope or a
   * time; absent if there is none.
   */
  readonly unlisted?: readonly UnlistedConversation[]
  /** How far the read models lag, if other processes run the projections. Absent if they are up to date. */
  readonly behind?: RowsLag
}

/** The events of a conversation to read. Default: all. */
export type LogOptions = OptionsOf<typeof historyCalls.log>

/** Options of a subscription. */
export type FollowOptions = OptionsOf<typeof historyCalls.follow>

/** An event; or a sign that all events up to a position were delivered. */
export type Followed =
  | { readonly kind: 'event'; readonly event: RecordedEvent }
  | { readonly kind: 'caught-up'; readonly position: number }

/** Which conversations to list or to sum. */
export type ConversationSelection = InputOf<ReturnType<typeof common.selection>>

/** Filters and order of a list of conversations. */
export type ListOptions = OptionsOf<typeof conversationCalls.list>

/** Options of totals. */
export type TotalsOptions = OptionsOf<typeof conversationCalls.totals>

/** Usage of conversations, from the read models. */
export interface UsageTotals {
  /** The group that spent the most tokens is first. */
  readonly groups: readonly GroupTotals[]
  /** The number of all groups. */
  readonly groupCount: number
  /** The sum of all groups. */
  readonly total: Totals
  /** How far the read models lag, if other processes run the projections. Absent if they are up to date. */
  readonly behind?: RowsLag
}

/** Options of statistics. */
export type StatsOptions = OptionsOf<typeof historyCalls.stats>

/** Options of the loss report. */
export type ForgottenOptions = OptionsOf<typeof historyCalls.forgotten>

/** Options of a note for an agent. */
export type RecallOptions = OptionsOf<typeof historyCalls.recall>

/** A note that restores an agent after a compaction. */
export interface Recall extends RecallNote {
  /** The conversation. */
  readonly conversationId: string
  /** The revision up to which it was read. */
  readonly revision: number
  /** Number of its compactions. */
  readonly compactions: number
  /** All rules that the user stated in it, also those that the context has: proposals for `rules`. */
  readonly statedRules: readonly StatedRule[]
}

/** Totals of the loss report. */
export interface Forgotten {
  /** Number of conversations that were compacted. */
  readonly conversations: number
  /** All cycles together, and by program, version, trigger and strategy. */
  readonly totals: ForgottenTotals
}

/** Options of a comparison of editions. */
export type CompareEditionsOptions = OptionsOf<typeof editionCalls.compare>

/** The comparison of editions. */
export interface EditionsCompared {
  /**
   * Compares an edition with the history in force, or with another edition: figures, the difference of the views, and
   * what each keeps, shows and loses. Recorded with the edition once for each of its states. `all` is every conversation
   * of the edition; `skipped` lists those in which it was dropped or which the other edition does not have. If such a
   * conversation is named, an error is thrown before anything is recorded.
   */
  compare(
    conversationIds: readonly string[] | 'all',
    editionId: string,
    options?: CompareEditionsOptions,
  ): Promise<EditionComparisons>
}

/** Options of a what-if run. */
export type WhatIfOptions = OptionsOf<typeof editionCalls.whatIf>

/** Transcripts and actions of other programs. */
export interface Transcripts {
  /**
   * Records a transcript of another program: messages, compactions, withdrawn messages, and content that the program
   * replaced for its model. The context of such a conversation is the program's own until an edition is adopted or a
   * cycle is undone. Importing the file again records only what is new.
   */
  import(path: string, options?: ImportTranscriptOptions): Promise<ImportedTranscript>
  /**
   * Like `import`, but takes the records one by one while the other program writes them, under the name that
   * the file would have.
   */
  open(name: string, options: OpenTranscriptOptions): Promise<OpenTranscript>
  /**
   * Like `open`, but takes the items that an importer on another machine made of the records. The service records with
   * it what `import --store https://…` sends.
   */
  receive(options: ReceiveTranscriptOptions): Promise<ReceivedTranscript>
  /**
   * Records actions of another program as an import of its transcript would, all or none. The context stays the
   * program's own. A message whose id is already recorded is skipped. A conversation that began with `append` is rejected
   * (`NotObserved`).
   */
  observe(conversationId: string, observation: Observation, options?: ObserveOptions): Promise<AppendResult>
  /**
   * Writes the conversation as a session of another program on this machine, which lists and resumes it: the newest
   * messages verbatim, and a summary with the note of `recall` for everything older. Imports the new session as a
   * branch of the conversation. Never overwrites a file.
   */
  handoff(conversationId: string, options: HandoffOptions): Promise<Handoff>
}

/** Other courses of a conversation without an edition. */
export interface EditionsTried {
  /**
   * Returns the messages of the cycles from `cycle` to the last one to the window. Later messages stay. The batches of
   * these cycles remain in the log and are not used again. Throws, with the figures, if the context would exceed the
   * hard limit.
   */
  undo(conversationId: string, options: UndoOptions): Promise<Undone>
  /** Simulates conversations under other policies. Records nothing and calls no model. */
  whatIf(conversationIds: readonly string[] | 'all', options: WhatIfOptions): Promise<WhatIf>
}

/** Verification, statistics and operation. */
export interface Admin {
  /** Verifies that nothing was lost or changed, in one conversation or in all. */
  verify(conversationId?: string, options?: VerifyOptions): Promise<Verification>
  /**
   * Statistics of one conversation or of all: tokens spent and saved, cost by model, failures, times. Computed from the
   * log. Over all conversations, those that cannot be read are listed in `uncounted` and are in no sum. A named
   * conversation that cannot be read throws.
   */
  stats(conversationId?: string, options?: StatsOptions): Promise<TotalStats>
  /** Identifies the log: its address and its first event. */
  identity(): Promise<{ readonly name: string; readonly origin: LogOrigin | undefined }>
  /**
   * Subscribes to the events of all conversations in the order of their positions, first the recorded ones after
   * `after`, then new ones, until the signal aborts. `caught-up` items report the position up to which all events were
   * delivered.
   */
  follow(options: FollowOptions): AsyncIterable<Followed>
  /**
   * Waits for background compaction of this ledger, or of one conversation. Returns immediately if another process
   * compacts.
   */
  waitForCompaction(conversationId?: string): Promise<void>
  /** Prompts of summaries, by name, version and hash. */
  readonly prompts: Prompts
  /** Secrets: redaction, and the search in recorded events. */
  readonly secrets: LedgerSecrets
  /** Signed checkpoints of the log, and proofs for outsiders. */
  readonly proofs: LedgerProofs
  /** Erasure of texts, in an erasable ledger. */
  readonly erasure: LedgerErasure
  /** Retention: rules, holds, and the erasure of old conversations. */
  readonly retention: LedgerRetention
  /** The read models of search and lists. */
  readonly projections: {
    /** Lag of each projection in events and seconds, the process that runs it, and why it stopped. */
    status(): Promise<readonly ProjectionStatus[]>
    /**
     * Rebuilds the rows of the named projections from the log, without a model. Readers see the old rows until it
     * resolves.
     */
    rebuild(names: readonly string[] | 'all', options?: RebuildOptions): Promise<void>
    /** Applies all events of the log. Resolves to the position that all rows include. */
    catchUp(): Promise<number>
    /**
     * Makes the missing vectors for semantic search, oldest message first. Appends and searches also do this in the
     * background, in one process at a time. Vectors that are made remain, even if the call is interrupted.
     */
    fillVectors(options?: FillOptions): Promise<Filled>
  }
}

/**
 * An open log with its read models and its summarizer. After `close` every function throws `LedgerClosed`, except
 * `compress` and the tools, which never throw.
 */
export interface Ledger {
  /**
   * A handle of one conversation for an agent: records the user's messages, the model's answers and the results of
   * tools, and has the memory tools.
   */
  conversation(conversationId: string, options?: ChatOptions): Chat
  /**
   * Records the messages, all or none. Compaction runs in the background. Repeating a recorded message records
   * nothing.
   */
  append(
    conversationId: string,
    messages: MessageInput | readonly MessageInput[],
    options?: AppendOptions,
  ): Promise<AppendResult>
  /**
   * Withdraws messages and appends replacements, all or none. Withdrawn messages are in no later context and remain in
   * the log. A cycle that compacted one of them is undone.
   */
  amend(conversationId: string, options: AmendOptions): Promise<AppendResult>
  /**
   * The context to send to the model: always includes the last message, is valid for the chat API, and fits the window.
   * With `at`, the context of that moment, byte for byte: `{ at: message.answers.revision }` is the one that the message
   * answers.
   */
  context(conversationId: string, options?: ContextOptions): Promise<ContextAsOf>
  /** The messages that no batch covers, complete as recorded, now or at a moment. */
  messages(conversationId: string, options?: AsOfOptions): Promise<LiveMessages>
  /**
   * The changes between two moments or across a cycle: messages and batches that were removed and added, the view's
   * text, tokens, and the events in between.
   */
  diff(conversationId: string, options: DiffOptions): Promise<Difference>
  /** Compacts now; without `force` only if the context is at its limit. A failure is returned, not thrown. */
  compact(conversationId: string, options?: CompactOptions): Promise<Compaction>
  /**
   * Searches batches and messages of one conversation or one scope, best hit first. By default it searches the
   * conversations without a scope.
   */
  search(query: string, options?: LedgerSearchOptions): Promise<SearchResult>
  /** The events of a conversation, oldest first by default. */
  log(conversationId: string, options?: LogOptions): AsyncIterable<RecordedEvent>
  /**
   * Traces a batch, the batch that contains a line, or the whole view back to the original messages. Each summary has
   * its prompt, model, parameters, usage and cycle. Read from the log.
   */
  explain(conversationId: string, options?: ExplainOptions): Promise<Explanation>
  /**
   * Reports what compactions, ours and other programs', lost in one conversation or in all: the removed messages, what
   * the summary has of them (kept, partial, lost or unknown, each with evidence), and tool calls after the compaction
   * that repeat earlier ones. Computed by code, without a model. `onCycle` is called with each cycle.
   */
  forgotten(conversationId?: string, options?: ForgottenOptions): Promise<Forgotten>
  /**
   * Makes a short note of the recorded content that the context of the model lacks: rules, open work, decisions, files
   * under change, commands and how they ended, errors. Original words with their revisions; computed by code, without a
   * model. The text is empty if nothing is missing. Errors: `NoSuchConversation`, `BadInput` for rules that do not fit.
   */
  recall(conversationId: string, options?: RecallOptions): Promise<Recall>
  /** The rules that the user stated, and the calls that broke them. */
  readonly rules: LedgerRules
  /**
   * Lists conversations, by default the most recently updated first.
   */
  list(options?: ListOptions): Promise<ConversationList>
  /**
   * Returns the totals of conversations by program and project: messages, the usage of the models that wrote their answers
   * and summaries, and its cost by the prices of the ledger. Answers of other programs count with the usage that their
   * programs reported. Erased answers have none.
   */
  totals(options?: TotalsOptions): Promise<UsageTotals>
  /** Transcripts and actions of other programs. */
  readonly transcripts: Transcripts
  /** Editions: the same history compacted with another prompt, model or policy; and cycles that are undone. */
  readonly editions: Editions & EditionsCompared & EditionsEvaluated & EditionsTried
  /** Verification, statistics and operation. */
  readonly admin: Admin
  /** Records new messages of a host's history, compacts if due, and returns the context. Never throws. */
  compress<Message extends MessageInput>(
    history: readonly Message[],
    conversationId: string,
    options?: ActorOptions,
  ): Promise<Compressed<Message>>
  /** Waits for running work and closes the store. */
  close(): Promise<void>
  /** The same as `close`, for `await using ledger = await openLedger(…)`. */
  [Symbol.asyncDispose](): Promise<void>
}
