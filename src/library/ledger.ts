/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The public interface of the library, for developers of agents, auditors and operators. Every function parses its
 * input, calls one use case, and throws a `LedgerError` if the use case fails.
 */
import type { ForgottenTotals } from '../application/loss-report/totals.js'
import type { ForgottenCycle } from '../application/loss-report/compaction-reports.js'
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
import type { Observation, SeenCompaction } from './ledger-observation.js'
import type { LedgerProofs } from './ledger-proofs.js'
import type { LedgerErasure } from './ledger-erasure.js'
import type { LedgerRetention } from './ledger-retention.js'
import type { LedgerSecrets } from './ledger-secrets.js'
import type { RebuildOptions } from '../../projections/engine/rebuild.js'
import type { Filled, FillOptions, MissingVectors } from '../../projections/read-models/archive-index/vector-filler.js'
import type { RowsLag, ProjectionStatus } from '../../projections/engine/watch.js'
import type { Compaction } from '../application/compaction/compact.js'
import type { EditionComparisons, LabelledQuestion } from '../application/editions/compare.js'
import type { Compressed } from '../application/compaction/compress.js'
import type { Difference } from '../application/history/difference.js'
import type { ExplainOptions, Explanation } from '../application/history/explanation.js'
import type { ConversationOrder } from '../domain/values/conversation-order.js'
import type { ConversationSummary, UnlistedConversation } from '../../projections/read-models/live-messages/queries.js'
import type { SearchHit } from '../application/search/search.js'
import type { ConversationStats, TotalStats } from '../application/history/stats.js'
import type { ContextAsOf } from '../domain/compaction/context.js'
import type { LiveMessages } from '../application/history/time-travel.js'
import type { Undone } from '../application/editions/undo-and-revert.js'
import type { Verification, VerifyOptions } from '../application/audit/verify.js'
import type { TriedPolicy, WhatIf } from '../application/editions/what-if.js'
import type { RecordedEvent } from '../domain/events/index.js'
import type { MessageInput } from '../domain/values/chat-message.js'
import type { PriceTable } from '../domain/reports/prices.js'
import type { GroupTotals, TotalGroup, Totals } from '../domain/reports/totals.js'
import type { ViewName } from '../domain/values/view-names.js'
import type { LogOrigin } from '../ports/manifest.js'
import type { Chat, ChatOptions } from './chat-types.js'
import type { Editions, Prompts } from './ledger-editions.js'
import type { EditionsEvaluated } from './ledger-evaluation.js'
import type {
  ActorOptions,
  AppendOptions,
  AppendResult,
  At,
  ObserveOptions,
  RequestOptions,
  WaitOptions,
} from './ledger-options.js'

export type { RebuildOptions, RebuildProgress } from '../../projections/engine/rebuild.js'
export type {
  FillOptions,
  FillProgress,
  Filled,
  MissingVectors,
} from '../../projections/read-models/archive-index/vector-filler.js'
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
  ExplainOptions,
  Explanation,
  OriginalMessage,
  PromptText,
  RecordedAt,
  TakeoverOrigin,
} from '../application/history/explanation.js'
export type { ConversationOrder } from '../domain/values/conversation-order.js'
export type { ConversationSummary, UnlistedConversation } from '../../projections/read-models/live-messages/queries.js'
export type {
  Handoff,
  HandoffOptions,
  WithdrawnPart,
  ImportedConversation,
  ImportedTranscript,
  ImportTranscriptOptions,
  OpenTranscript,
  OpenTranscriptOptions,
  ReceivedTranscript,
  ReceiveTranscriptOptions,
} from './ledger-transcripts.js'
export type { Observation, SeenCompaction } from './ledger-observation.js'
export type * from './ledger-proofs.js'
export type * from './ledger-erasure.js'
export type * from './ledger-retention.js'
export type * from './ledger-secrets.js'
export type * from './ledger-options.js'
export type { RecordedConversation } from '../application/importers/recorded-transcript.js'
export type { ForgottenCycle } from '../application/loss-report/compaction-reports.js'
export type { ForgottenReport } from '../application/loss-report/forgotten.js'
export type { JudgedItem } from '../application/loss-report/judged-item.js'
export type { ForgottenTotal, ForgottenTotals } from '../application/loss-report/totals.js'
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
export type { Problem, Verification, VerifyOptions, VerifyProgress } from '../application/audit/verify.js'
export type { Course, TriedPolicy, WhatIf, WhatIfRow } from '../application/editions/what-if.js'
export type {
  AssistantMessage,
  AudioPart,
  ChatMessage,
  ChatPart,
  CustomCall,
  FilePart,
  FunctionCall,
  ImagePart,
  InstructionMessage,
  MessageCall,
  MessageInput,
  MessagePart,
  RefusalPart,
  TextPart,
  ToolMessage,
  UserMessage,
} from '../domain/values/chat-message.js'
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
export type {
  AdoptOptions,
  Edition,
  EditionBound,
  EditionInFull,
  EditionOfConversation,
  EditionRequest,
  EditionSpending,
  Editions,
  EstimateOptions,
  Paid,
  Price,
  PromptRegistry,
  Prompts,
  EditionChange,
  RegisteredPrompt,
  Replay,
  ReplayEstimate,
  ReplayOptions,
  ReplayProgress,
  ReplayedConversation,
} from './ledger-editions.js'

export type {
  CandidateBudget,
  CandidateFailure,
  CandidateMeasures,
  CandidateOptions,
  EditionsEvaluated,
  EvaluateOptions,
  EvaluatedCandidate,
  Evaluation,
  EvaluationEstimate,
  EvaluationProgress,
  EvaluationRequest,
  EvidenceCounts,
  RetainedKind,
  Retention,
  RetentionCounts,
} from './ledger-evaluation.js'

/** Options of a compaction. */
export interface CompactOptions extends ActorOptions {
  /** If true, compacts all that the policy allows, even if the context is below its limit. */
  readonly force?: boolean
}

/** The cycles to undo. */
export interface UndoOptions extends RequestOptions {
  /** Number of the first cycle to undo. All later cycles are undone too. */
  readonly cycle: number
}

/** Another program's compaction of a conversation that the ledger manages. */
export interface AmendingCompaction
  extends Pick<Observation, 'program' | 'programVersion'>, Pick<SeenCompaction, 'sourceId'> {
  /** What started the compaction. Default: `unknown`. */
  readonly trigger?: SeenCompaction['trigger']
  /** The summary that replaced messages. Default: `opaque`, a form that only the provider can read. */
  readonly summary?: SeenCompaction['summary']
  /** The program's message list directly after the compaction. Default: the appended messages, the summary first. */
  readonly context?: SeenCompaction['context']
}

/** Messages to withdraw, and their replacements. */
export interface AmendOptions extends RequestOptions {
  /** Ids of the messages to withdraw, or `all`. A cycle that compacted one of them is undone first. */
  readonly withdraw: readonly string[] | 'all'
  /** Replacements, appended after all messages that remain. */
  readonly append?: readonly MessageInput[]
  /**
   * A compaction by another program, recorded before the appended messages as an event of its own
   * (`CompactionObserved`). It removes nothing from the context by itself.
   */
  readonly compaction?: AmendingCompaction
  /** Expected revision of the conversation. If it has another one, nothing is recorded. */
  readonly expectedRevision?: number
}

/** Options of a context. */
export interface ContextOptions extends WaitOptions {
  /** The moment. Default: now. */
  readonly at?: At
  /**
   * View of the compacted part. Default: the recorded view, which the model received. With another view, `hash` differs
   * from that of the recorded context, which `inForce` names.
   */
  readonly view?: ViewName
}

/** The moment to read. */
export interface AsOfOptions extends WaitOptions {
  /** Default: now. */
  readonly at?: At
}

/** Two moments (`to` is now by default), or one cycle, from directly before it to directly after it. */
export type DiffOptions = WaitOptions & ({ readonly from: At; readonly to?: At } | { readonly cycle: number })

/** Options of a search. Without a conversation or a scope, conversations without a scope are searched. */
export interface LedgerSearchOptions extends WaitOptions {
  /** Searches this conversation. */
  readonly conversationId?: string
  /** Searches all conversations of this scope. */
  readonly scope?: string
  /** Maximum number of hits. Default 10. */
  readonly limit?: number
  /** Batches, messages, or both in one list (the default). */
  readonly include?: 'messages' | 'batches' | 'all'
}

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
export interface LogOptions {
  /** The first revision. */
  readonly from?: number
  /** Maximum number of events. */
  readonly limit?: number
  /** `backwards` reads the newest event first, starting at `from` (default: the last event). Default `forwards`. */
  readonly direction?: 'forwards' | 'backwards'
}

/** Options of a subscription. */
export interface FollowOptions {
  /** Events after this position. Default -1: from the first event. `head`: events recorded from now on. */
  readonly after?: number | 'head'
  /** If true, ends at the current last event and does not wait for new ones. */
  readonly untilHead?: boolean
  /** Ends the subscription without an error. */
  readonly signal?: AbortSignal
}

/** An event; or a sign that all events up to a position were delivered. */
export type Followed =
  | { readonly kind: 'event'; readonly event: RecordedEvent }
  | { readonly kind: 'caught-up'; readonly position: number }

/** Which conversations to list or to sum. */
export interface ConversationSelection {
  /** Tenant or owner. */
  readonly scope?: string
  /** Beginning of the id. */
  readonly prefix?: string
  /** Part of the id, the title or the project folder, in any case. */
  readonly match?: string
  /** The person whose key of a service began the conversation. */
  readonly person?: string
  /** The program whose transcript was imported. */
  readonly program?: string
  /** Part of the project folder, in any case. */
  readonly project?: string
  /**
   * Words, in any order and case, which the id, title, project folder and messages of the conversation have together.
   * Words in double quotes are an exact phrase. At most 32 words and phrases.
   */
  readonly grep?: string
  /** Only conversations with a message at or after this time. A `Date`, or ISO 8601 with its zone. */
  readonly since?: Date | string
  /** Only conversations without a message at or after this time. A `Date`, or ISO 8601 with its zone. */
  readonly until?: Date | string
}

/** Filters and order of a list of conversations. */
export interface ListOptions extends WaitOptions, ConversationSelection {
  /** Only ids after this one, for reading page by page. Requires `sort: 'id'`. */
  readonly after?: string
  /**
   * `relevance` (default with `grep`): conversations that have the words of `grep` in their title, id or project folder
   * first, then those with all of them in one message. `updated` (default without): the most recent message first.
   * `lost`, `messages` and `tokens`: most lost items, messages or live tokens first. `id`: by id.
   */
  readonly sort?: ConversationOrder
  /** Maximum number of conversations. Default: all. */
  readonly limit?: number
  /** If true, counts missing `lost` for up to 0.3 seconds. Default: false. */
  readonly countLost?: boolean
}

/** Options of totals. */
export interface TotalsOptions extends WaitOptions, ConversationSelection {
  /** If true, only conversations without a tenant or owner. Default: false. */
  readonly unscoped?: boolean
  /** By what to group. Default: by program and project. */
  readonly by?: readonly TotalGroup[]
  /** Maximum number of groups. Default: all. The total always includes all. */
  readonly limit?: number
}

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
export interface StatsOptions {
  /** Prices by model name; they override those of the ledger. */
  readonly prices?: PriceTable
  /** Called with each conversation as soon as it is counted. A returned promise is awaited. */
  readonly onConversation?: (stats: ConversationStats) => void | Promise<void>
}

/** Options of the loss report. */
export interface ForgottenOptions {
  /** Only cycles with this number. Requires a conversation. */
  readonly cycle?: number
  /** Called with each cycle, oldest first within a conversation. A returned promise is awaited. */
  readonly onCycle?: (cycle: ForgottenCycle) => void | Promise<void>
}

/** Options of a note for an agent. */
export interface RecallOptions {
  /** The note for the context at this moment: a revision, a time or the id of a message. Now by default. */
  readonly at?: At
  /** The most tokens of the note, estimated; 1,500 by default, at least 100. */
  readonly tokens?: number
  /** Rules that the note begins with, whatever the conversation says. They must fit into the limit. */
  readonly rules?: readonly string[]
}

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
export interface CompareEditionsOptions extends WaitOptions, ActorOptions {
  /** Another edition. Default: the history in force at the last event that the edition includes. */
  readonly against?: string
  /** Questions with the ids of the messages that answer them. Ids of other conversations are ignored. */
  readonly questions?: readonly LabelledQuestion[]
  /** Whether to record the comparison. Default true. False also works in a ledger that is opened read-only. */
  readonly record?: boolean
  /** Called after each conversation. */
  readonly onConversation?: (done: number, of: number) => void
}

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
export interface WhatIfOptions {
  /** Named settings, each of which overrides the conversation's own. */
  readonly policies: readonly TriedPolicy[]
  /**
   * `recorded` (default): summaries as long as the recorded ones. `extractive`: written by the strategy without a
   * model.
   */
  readonly summaries?: 'recorded' | 'extractive'
  /** Called after each conversation. */
  readonly onConversation?: (done: number, of: number) => void
}

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
