/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The ledger as a library: what an agent's developer, an auditor and an operator call. Every function parses, calls one
 * use case, and throws a `LedgerError` (a failure as data, one sentence, whose fault it is) where the use case says no.
 */
import type { ForgottenTotals } from '../domain/reports/forgotten/totals.js'
import type { ForgottenCycle } from '../history/forgotten.js'
import type {
  ImportedTranscript,
  ImportTranscriptOptions,
  OpenTranscript,
  OpenTranscriptOptions,
} from './transcripts.js'
import type { Observation, SeenCompaction } from './observing.js'
import type { RebuildOptions } from '../../projections/engine/rebuild.js'
import type { Filled, FillOptions, MissingVectors } from '../../projections/read-models/archive-index/vector-filler.js'
import type { Behind, ProjectionStatus } from '../../projections/engine/watch.js'
import type { Compaction } from '../compaction/compact.js'
import type { EditionComparisons, LabelledQuestion } from '../editions/compare.js'
import type { Compressed } from '../compaction/compress.js'
import type { Difference } from '../history/difference.js'
import type { ExplainOptions, Explanation } from '../history/explanation.js'
import type {
  ConversationOrder,
  ConversationSummary,
  UnlistedConversation,
} from '../../projections/read-models/live-messages/queries.js'
import type { SearchHit } from '../search/search.js'
import type { ConversationStats, TotalStats } from '../history/stats.js'
import type { ContextAsOf } from '../domain/compaction/context.js'
import type { LiveMessages } from '../history/time-travel.js'
import type { Undone } from '../editions/undo-and-revert.js'
import type { Verification, VerifyOptions } from '../audit/verify.js'
import type { TriedPolicy, WhatIf } from '../editions/what-if.js'
import type { RecordedEvent } from '../domain/events/index.js'
import type { MessageInput } from '../domain/values/chat-message.js'
import type { PolicySettings } from '../domain/values/policy.js'
import type { PriceTable } from '../domain/reports/prices.js'
import type { ViewName } from '../domain/values/view-names.js'
import type { Clock } from '../ports/clock.js'
import type { LogOrigin } from '../ports/manifest.js'
import type { Summarizer } from '../ports/summarizer.js'
import type { SummarizerConfig } from '../summarizers/index.js'
import type { SummarizeMessages } from '../summarizers/from-function.js'
import type { AgentTool, AgentToolLimits } from './agent-tools.js'
import type { Editions, Prompts } from './ledger-editions.js'

export type { RebuildOptions, RebuildProgress } from '../../projections/engine/rebuild.js'
export type {
  FillOptions,
  FillProgress,
  Filled,
  MissingVectors,
} from '../../projections/read-models/archive-index/vector-filler.js'
export type { Behind, PartitionStatus, ProjectionStatus } from '../../projections/engine/watch.js'
export type { Compaction } from '../compaction/compact.js'
export type {
  ComparisonTotals,
  EditionComparison,
  EditionComparisons,
  EditionReport,
  LabelledQuestion,
  SkippedConversation,
} from '../editions/compare.js'
export type { Compressed } from '../compaction/compress.js'
export type { Difference } from '../history/difference.js'
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
} from '../history/explanation.js'
export type {
  ConversationOrder,
  ConversationSummary,
  UnlistedConversation,
} from '../../projections/read-models/live-messages/queries.js'
export type {
  ImportedTranscript,
  ImportTranscriptOptions,
  OpenTranscript,
  OpenTranscriptOptions,
} from './transcripts.js'
export type { Observation, SeenCompaction } from './observing.js'
export type { RecordedConversation } from '../importers/record-transcript.js'
export type { ForgottenCycle } from '../history/forgotten.js'
export type { ForgottenReport, JudgedItem } from '../domain/reports/forgotten/forgotten.js'
export type { ForgottenTotal, ForgottenTotals } from '../domain/reports/forgotten/totals.js'
export type { SearchHit } from '../search/search.js'
export type { ConversationStats, Stats, TotalStats, UncountedConversation } from '../history/stats.js'
export type { LineSource, Withdrawn } from '../history/trace-line.js'
export type { Context, ContextAsOf } from '../domain/compaction/context.js'
export type { LiveMessages } from '../history/time-travel.js'
export type { Undone } from '../editions/undo-and-revert.js'
export type { Problem, Verification, VerifyOptions, VerifyProgress } from '../audit/verify.js'
export type { Course, TriedPolicy, WhatIf, WhatIfRow } from '../editions/what-if.js'
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
export type { SummarizeMessages } from '../summarizers/from-function.js'
export type { AgentTool, AgentToolLimits } from './agent-tools.js'
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
  PutIntoForce,
  RegisteredPrompt,
  Replay,
  ReplayEstimate,
  ReplayOptions,
  ReplayProgress,
  ReplayedConversation,
} from './ledger-editions.js'

/** A model behind the OpenAI embeddings API. */
export interface EmbeddingConfig {
  /** The model's name. */
  readonly model: string
  /** Address of an OpenAI-compatible API. Default: OpenAI's own. */
  readonly baseUrl?: string
  /** Its key; a server of your own may need none. */
  readonly apiKey?: string
}

/** How to open a ledger; only `store` has to be given. */
export interface LedgerOptions {
  /**
   * Where the log is: a folder (the embedded Postgres; one process at a time has it, others read beside it with
   * `readOnly`), `memory`, `postgres://…`, or a KurrentDB by `esdb://…` or `kurrentdb://…`.
   */
  readonly store: string
  /**
   * True where nothing is to be recorded: what would (`append`, `compact`, `editions.adopt`, …) throws
   * `LedgerReadOnly`. A folder that another process has open is then read by way of that process (the same machine and
   * user), between its transactions: it sees what was appended up to now, and lists and searches say in `behind` what
   * the rows do not show yet; `verify` alone is refused there (`LedgerBeingWritten`). A folder that nobody has open is
   * opened as without it, and is this process's until it is closed.
   */
  readonly readOnly?: boolean
  /**
   * Where the read models, large bodies and claims are, for a log in KurrentDB: `postgres://…`, or a folder. A Postgres
   * log keeps them beside it.
   */
  readonly database?: string
  /**
   * Who summarizes: `extractive` (no model, no key), the configuration of a model, a function `async (messages) =>
   * text`, or a whole summarizer of your own.
   */
  readonly summarizer?: 'extractive' | SummarizerConfig | SummarizeMessages | Summarizer
  /** Settings for what is appended through this ledger; they are recorded. Left out, a conversation keeps its own. */
  readonly policy?: PolicySettings
  /**
   * Name of the estimator that what is appended through this ledger is counted by (`registerEstimator` comes first); it
   * is recorded. Left out, a conversation keeps its own, and a new one goes by the default.
   */
  readonly estimator?: string
  /** What the summarizer's prompt says of whom it works for. */
  readonly persona?: string
  /** Where it is given, search goes by meaning too. */
  readonly embedding?: EmbeddingConfig
  /**
   * Who keeps the read models and compacts: this process (the default), or processes of their own (`projections run`,
   * `compaction run`).
   */
  readonly workers?: 'inside' | 'elsewhere'
  /** What models cost, by their names, for `stats`. */
  readonly prices?: PriceTable
  /**
   * Whether this process summarizes whole chunks before a limit asks for them. Default true; false for one that ends
   * right behind its appends, and would wait for them alone.
   */
  readonly ahead?: boolean
  /** Recorded with every fact as who asked. Default `library`. */
  readonly actor?: string
  /** Tells the time and makes ids. Default: the system's. */
  readonly clock?: Clock
  /**
   * A summarizer that has not answered after so many milliseconds has failed, whether or not it heeds its signal.
   * Default: ten minutes.
   */
  readonly summarizerTimeoutMs?: number
  /**
   * Hears of what nobody waits for: a compaction that failed behind an append, a read model that stopped. What it
   * throws breaks nothing. Left out, the first problem is a warning of the process (`CONTEXT_LEDGER_PROBLEM`).
   */
  readonly onProblem?: (problem: unknown) => void
  /**
   * Hears, in a sentence for people, what opening a folder waits for: that the ledger is made, or that another
   * machine's lock turns out to be nobody's.
   */
  readonly onOpening?: (sentence: string) => void
}

/** Who asks for something that is recorded; recorded with it. */
export interface ActorOptions {
  /** Who asks; recorded. Default: the ledger's own. */
  readonly actor?: string
}

/** For which request something is done, and who asks; recorded with it. */
export interface RequestOptions extends ActorOptions {
  /** The request that it all belongs to. */
  readonly correlationId?: string
}

/** What goes with messages, and is recorded with them. */
export interface AppendOptions extends RequestOptions {
  /** Settings to go by from now on, over those of the ledger and those that are recorded. */
  readonly policy?: PolicySettings
  /** Tenant or owner; given with the first message, and the same for ever. */
  readonly scope?: string
  /**
   * The revision of the conversation's last fact, as the caller knows it; -1n where the conversation is to be a new one.
   * Where others recorded meanwhile, nothing is appended (`RevisionNotExpected`). An append that is recorded already is
   * no conflict.
   */
  readonly expectedRevision?: bigint
  /**
   * True where these messages are one request, which is recorded whole or was: where some of its ids are recorded and
   * others are not, nothing is appended (`PartlyRecorded`). Every message has an id then.
   */
  readonly together?: boolean
}

/** How much the answers of tools hold, and who uses them. */
export interface AgentToolOptions extends AgentToolLimits, ActorOptions {}

/** How to compact. */
export interface CompactOptions extends ActorOptions {
  /** True compacts what may be compacted, also where the context is not at its limit. */
  readonly force?: boolean
}

/** Which cycles to take back. */
export interface UndoOptions extends RequestOptions {
  /** The first of them, by its number; all later ones go with it. */
  readonly cycle: number
}

/** What goes with an observation, and is recorded with it. */
export type ObserveOptions = Omit<AppendOptions, 'expectedRevision' | 'together'>

/** Another program's compaction of a conversation whose context the ledger makes. */
export interface AmendingCompaction
  extends Pick<Observation, 'program' | 'programVersion'>, Pick<SeenCompaction, 'sourceId'> {
  /** What began it. Default: `unknown`. */
  readonly trigger?: SeenCompaction['trigger']
  /** What it put in the place of messages. Default: `opaque`, a form that only its provider reads. */
  readonly summary?: SeenCompaction['summary']
  /** The program's list right behind it. Default: what is appended, the summary first. */
  readonly context?: SeenCompaction['context']
}

/** What is taken back of a conversation, and what is said in its place. */
export interface AmendOptions extends RequestOptions {
  /** Ids of the messages that are taken back, or `all` of them. What batches cover comes back first. */
  readonly withdraw: readonly string[] | 'all'
  /** What is said in their place, behind all that stays. */
  readonly append?: readonly MessageInput[]
  /**
   * Another program's compaction that was seen with it. It is recorded in front of what is appended as a fact of its own
   * (`CompactionObserved`), and takes nothing out of the context by itself.
   */
  readonly compaction?: AmendingCompaction
  /** The revision that this was decided on: where the conversation has moved on, nothing is recorded. */
  readonly expectedRevision?: bigint
}

/** What an append recorded, and where. */
export interface AppendResult {
  /** The conversation. */
  readonly conversationId: string
  /** Revision of the conversation's last fact. */
  readonly revision: bigint
  /** Ids of the messages that were recorded now; what was there already is left out. */
  readonly recorded: readonly string[]
  /** Position of the last fact that was recorded now. */
  readonly position: bigint | undefined
}

/** Read your own write: wait until a position, which an append gave, is among what is read. */
export interface WaitOptions {
  /** Default: what this ledger recorded itself is among it. */
  readonly waitFor?: bigint
  /** Milliseconds; default 5,000. What is not there by then is an error, `ProjectionsBehind`. */
  readonly timeout?: number
}

/**
 * A moment of a conversation. A `bigint`, or a text of digits as `answers.revision` has it, is a revision. A `Date`, or
 * an ISO 8601 text with its zone (`2026-03-01T12:30:00Z`), is an instant by the ledger's clock, and means the last fact
 * that was recorded at or before it. Any other text is the id of a message, and means the revision that it was recorded
 * at; an id that looks like a revision or a time is given as `message:ID`.
 */
export type At = bigint | Date | string

/** Which context to give. */
export interface ContextOptions extends WaitOptions {
  /** As it stood then, whatever came later. Default: as it stands now. */
  readonly at?: At
  /**
   * Show what was compacted through this view. Default: the one in force, which is what a model was given. Through
   * another one `hash` is not that of the recorded context, and `inForce` names that one.
   */
  readonly view?: ViewName
}

/** As of when. */
export interface AsOfOptions extends WaitOptions {
  /** Default: now. */
  readonly at?: At
}

/** Between which moments (`to`: now by default); or across one cycle, from just before it to just after it. */
export type DiffOptions = WaitOptions & ({ readonly from: At; readonly to?: At } | { readonly cycle: number })

/** Where to search, and for how much. Without a conversation or a scope: the conversations that name no scope. */
export interface LedgerSearchOptions extends WaitOptions {
  /** Searches this conversation. */
  readonly conversationId?: string
  /** Searches all conversations of this scope. */
  readonly scope?: string
  /** Hits at most; default 10. */
  readonly limit?: number
  /** Batches, messages, or both in one list (the default). */
  readonly include?: 'messages' | 'batches' | 'all'
}

/** What a search found, and what it could not look at yet. */
export interface SearchResult {
  /** Best first. */
  readonly hits: readonly SearchHit[]
  /** What the read models do not show yet, where other processes keep them. Left out where they show all. */
  readonly behind?: Behind
  /**
   * Where an embedding model is given: messages that have no vector yet, and are found by their words alone. They get
   * it behind; `problem` says why they did not, or why this search went by words alone. Left out where every message
   * has its vector.
   */
  readonly vectors?: MissingVectors & { readonly problem?: string }
}

/** The conversations of a ledger. */
export interface ConversationList {
  /** The one that something happened in last first. */
  readonly conversations: readonly ConversationSummary[]
  /**
   * Those that have no row, since already their first event could not be applied. They are named where the list is of
   * no scope and no time; left out where there is none.
   */
  readonly unlisted?: readonly UnlistedConversation[]
  /** What the read models do not show yet, where other processes keep them. Left out where they show all. */
  readonly behind?: Behind
}

/** Which facts of a conversation to give; default all. */
export interface LogOptions {
  /** The first revision to give. */
  readonly from?: bigint
  /** So many facts at most. */
  readonly limit?: number
  /** `backwards` gives the newest first, from `from` (default: the last fact) on. Default `forwards`. */
  readonly direction?: 'forwards' | 'backwards'
}

/** From where on to follow the facts, and until when. */
export interface FollowOptions {
  /** Gives the facts behind this position. Default -1n: from the first one on. `head`: what is recorded from now on. */
  readonly after?: bigint | 'head'
  /** True where it ends at the last fact that is there, and does not wait for others. */
  readonly untilHead?: boolean
  /** Ends it, without an error. */
  readonly signal?: AbortSignal
}

/** A fact; or that everything up to a position was given. */
export type Followed =
  | { readonly kind: 'event'; readonly event: RecordedEvent }
  | { readonly kind: 'caught-up'; readonly position: bigint }

/** Which conversations to list, and in which order. */
export interface ListOptions extends WaitOptions {
  /** Only those of this tenant or owner. */
  readonly scope?: string
  /** Only those whose id begins with this. */
  readonly prefix?: string
  /** Only those whose id comes after this one; goes with `sort: 'id'`, so that a list can be read page by page. */
  readonly after?: string
  /** Only those whose id has this in it, in whatever case. */
  readonly match?: string
  /** Only those in which something was recorded at or after this time. A `Date`, or ISO 8601 with its zone. */
  readonly since?: Date | string
  /** Only those in which nothing was recorded at or after this time. A `Date`, or ISO 8601 with its zone. */
  readonly until?: Date | string
  /**
   * The one that something happened in last first (default), that has the most messages, the most live tokens; or by
   * id.
   */
  readonly sort?: ConversationOrder
  /** Conversations at most; default all. */
  readonly limit?: number
}

/** By which prices to count, and who hears meanwhile. */
export interface StatsOptions {
  /** Prices by the name of the model, over those of the ledger. */
  readonly prices?: PriceTable
  /** Hears of each conversation as soon as it is counted; what it returns is waited for. */
  readonly onConversation?: (stats: ConversationStats) => void | Promise<void>
}

/** Which cycles to look at, and who hears of each. */
export interface ForgottenOptions {
  /** Only those with this number; goes with a conversation. */
  readonly cycle?: number
  /** Hears of each cycle, oldest first in its conversation; what it returns is waited for. */
  readonly onCycle?: (cycle: ForgottenCycle) => void | Promise<void>
}

/** What compactions forgot, in all. */
export interface Forgotten {
  /** Conversations that were compacted. */
  readonly conversations: number
  /** All cycles together, and by program, version, trigger and strategy. */
  readonly totals: ForgottenTotals
}

/** Beside what to set an edition, and by which questions. */
export interface CompareEditionsOptions extends WaitOptions, ActorOptions {
  /** Another edition; default: what was in force at the last fact of the conversation that the edition has seen. */
  readonly against?: string
  /** Questions with the messages that their answers stand in; those of other conversations count for nothing. */
  readonly questions?: readonly LabelledQuestion[]
  /** Default true. False only tells what the comparison comes to, in a ledger that was opened to read too. */
  readonly record?: boolean
  /** Hears of each conversation that is done. */
  readonly onConversation?: (done: number, of: number) => void
}

/** The comparison of editions, the one of their functions that searches. */
export interface EditionsCompared {
  /**
   * An edition beside what was in force, or beside another edition: figures, the difference of the views, and what each
   * keeps, shows and loses. Recorded with the edition, once for each state of it. `all` is every conversation that has
   * the edition; those that it was dropped in, or that the other edition is none of, are in `skipped`. One that is
   * named is an error then, before anything is recorded.
   */
  compare(
    conversationIds: readonly string[] | 'all',
    editionId: string,
    options?: CompareEditionsOptions,
  ): Promise<EditionComparisons>
}

/** Which policies to try, and by which summaries. */
export interface WhatIfOptions {
  /** Settings over those that each conversation has itself, each set under a name. */
  readonly policies: readonly TriedPolicy[]
  /**
   * `recorded` (default): summaries as long as the recorded ones. `extractive`: written by the strategy without a
   * model.
   */
  readonly summaries?: 'recorded' | 'extractive'
  /** Hears of each conversation that is done. */
  readonly onConversation?: (done: number, of: number) => void
}

/**
 * A log that is open, with its read models and its summarizer. Whatever is asked of it after `close` throws
 * `LedgerClosed`; `compress` and the tools never throw.
 */
export interface Ledger {
  /**
   * Resolves when the messages are recorded, all or none; compaction runs behind it. The same message again records
   * nothing.
   */
  append(
    conversationId: string,
    messages: MessageInput | readonly MessageInput[],
    options?: AppendOptions,
  ): Promise<AppendResult>
  /**
   * Takes messages back, and says others in their place, in one append: all of it is recorded, or nothing. What was taken
   * back is in no context any more, and stays in the log. Where a cycle has compacted it, that cycle is undone with it.
   */
  amend(conversationId: string, options: AmendOptions): Promise<AppendResult>
  /**
   * Records what another program did, from a transcript that it wrote: its messages, its compactions, what it took back,
   * what it gave its model in place of a message. The context of such a conversation is the one that the program made,
   * until an edition is adopted or a cycle undone. The same file again records what is new in it.
   */
  importTranscript(path: string, options?: ImportTranscriptOptions): Promise<ImportedTranscript>
  /**
   * Records what another program does while it does it: what `importTranscript` reads from a file, record by record, by
   * the name that the file would have.
   */
  openTranscript(name: string, options: OpenTranscriptOptions): Promise<OpenTranscript>
  /**
   * Records what another program was seen to do, while it does it, as an import of its transcript would: all of it, or
   * nothing. The context stays the one that the program makes. A message with an id that is recorded is not recorded
   * again; a conversation that was begun with `append` is refused (`NotObserved`).
   */
  observe(conversationId: string, observation: Observation, options?: ObserveOptions): Promise<AppendResult>
  /**
   * The context to send to the model: always includes the last message, is valid for the chat API, and fits the window.
   * With `at`, the one that it was then, byte for byte: `{ at: message.answers.revision }` is what that message
   * answers.
   */
  context(conversationId: string, options?: ContextOptions): Promise<ContextAsOf>
  /** The live messages, whole as they were recorded: all that no batch covers, now or at a moment. */
  messages(conversationId: string, options?: AsOfOptions): Promise<LiveMessages>
  /**
   * What changed between two moments, or across a cycle: messages and batches that left and came, the view's text,
   * tokens, and the facts in between.
   */
  diff(conversationId: string, options: DiffOptions): Promise<Difference>
  /** Compacts now. Without `force` only where the context is at its limit. A failure is returned, not thrown. */
  compact(conversationId: string, options?: CompactOptions): Promise<Compaction>
  /**
   * Puts the messages of the cycles from `cycle` to the last one back into the window. What came later stays; what
   * these cycles had made stays in the log and is not used again. Refused, with the figures, where the context would
   * pass the hard limit.
   */
  undo(conversationId: string, options: UndoOptions): Promise<Undone>
  /**
   * Waits for compaction behind the appends of this ledger, where it compacts itself; with an id, for that
   * conversation's alone.
   */
  settled(conversationId?: string): Promise<void>
  /**
   * Searches batches and messages, best first, within one conversation or one scope (by default: those without a
   * scope).
   */
  search(query: string, options?: LedgerSearchOptions): Promise<SearchResult>
  /** Every fact of a conversation, oldest first; from a revision on, and at most so many, where that is asked for. */
  log(conversationId: string, options?: LogOptions): AsyncIterable<RecordedEvent>
  /**
   * The facts of all conversations in the order of their positions, from `after` on, and then those that are recorded,
   * until the signal aborts. Between them it says up to where everything was given.
   */
  follow(options: FollowOptions): AsyncIterable<Followed>
  /**
   * Why the model saw what it saw: the tree of a batch, of the batch that has a line, or of all that is compacted, down
   * to the messages, each summary with its prompt, model, parameters, usage and cycle. Read from the log.
   */
  explain(conversationId: string, options?: ExplainOptions): Promise<Explanation>
  /**
   * What compactions forgot, ours and other programs', of one conversation or of all: what left the context, what the
   * summary has of it (kept, blurred, gone, or unknown, each with its proof), and what was done again behind it that the
   * messages before it had the answer to. Counted by code; no model is asked. `onCycle` hears of each cycle.
   */
  forgotten(conversationId?: string, options?: ForgottenOptions): Promise<Forgotten>
  /**
   * What a conversation, or all of them together, came to: tokens bought and saved, cost by model, failures, time.
   * Folded from the log. Of all of them, those that cannot be read are named in `uncounted` and are in no sum; one that
   * is asked for by its id and cannot be read is an error.
   */
  stats(conversationId?: string, options?: StatsOptions): Promise<TotalStats>
  /**
   * The conversations, the one that something happened in last first; filtered, in another order, and the first so
   * many, where that is asked for.
   */
  list(options?: ListOptions): Promise<ConversationList>
  /** Proves that nothing was lost, of one conversation or of all. */
  verify(conversationId?: string, options?: VerifyOptions): Promise<Verification>
  /** What tells this ledger's log from any other: its address, and its first event. */
  identity(): Promise<{ readonly name: string; readonly origin: LogOrigin | undefined }>
  /** Keeps a message out of compaction, and shows it word for word. */
  pin(conversationId: string, messageId: string, options?: RequestOptions): Promise<void>
  /** Gives a pinned message back to compaction; the next cycle may fold it. */
  unpin(conversationId: string, messageId: string, options?: RequestOptions): Promise<void>
  /** The same history compacted again by another prompt, model or policy, compared, put into force and put back. */
  readonly editions: Editions & EditionsCompared
  /** The texts that summaries were made with, by name, version and hash. */
  readonly prompts: Prompts
  /** The read models behind search and lists. */
  readonly projections: {
    /** How far each one is behind the log, in events and seconds, who keeps it, and why it stopped where it did. */
    status(): Promise<readonly ProjectionStatus[]>
    /**
     * Makes the rows of the named ones anew from the log, and calls no model. Readers see the old rows until it
     * resolves.
     */
    rebuild(names: readonly string[] | 'all', options?: RebuildOptions): Promise<void>
    /** Applies what the log has; resolves to the position that all rows show then. */
    catchUp(): Promise<bigint>
    /**
     * Gives every message that has none its vector, for the search by meaning, oldest first. That happens behind
     * appends and searches too; one process does it at a time. What was bought stays, whatever ends it.
     */
    fillVectors(options?: FillOptions): Promise<Filled>
  }
  /** What conversations would have come to under other policies. Nothing is recorded, and no model is asked. */
  whatIf(conversationIds: readonly string[] | 'all', options: WhatIfOptions): Promise<WhatIf>
  /** The agent's own tools, bound to its conversation. */
  tools(conversationId: string, options?: AgentToolOptions): readonly AgentTool[]
  /** Records what is new in a host's history, compacts where due, and hands back the context. Never throws. */
  compress<Message extends MessageInput>(
    history: readonly Message[],
    conversationId: string,
    options?: ActorOptions,
  ): Promise<Compressed<Message>>
  /** Waits for what runs, and lets go of the store. */
  close(): Promise<void>
  /** The same as `close`, for `await using ledger = await openLedger(…)`. */
  [Symbol.asyncDispose](): Promise<void>
}
