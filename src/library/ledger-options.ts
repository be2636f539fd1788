/** How to open a ledger, and the options that several of its functions share. */
import type { PriceTable } from '../domain/reports/prices.js'
import type { PolicySettings } from '../domain/values/policy.js'
import type { Clock } from '../ports/clock.js'
import type { KeyVault } from '../ports/key-vault.js'
import type { Summarizer } from '../ports/summarizer.js'
import type { SummarizeMessages } from '../application/summarizers/from-function.js'
import type { SummarizerConfig } from '../application/summarizers/index.js'

/** A model of an OpenAI-compatible embeddings API. */
export interface EmbeddingConfig {
  /** The model's name. */
  readonly model: string
  /** Address of an OpenAI-compatible API. Default: OpenAI's own. */
  readonly baseUrl?: string
  /** Its key; a server of your own may need none. */
  readonly apiKey?: string
  /** Milliseconds that one request may take. Default: two minutes. */
  readonly timeoutMs?: number
}

/** How to open a ledger. Only `store` is required. */
export interface LedgerOptions {
  /**
   * Location of the log: a folder (embedded Postgres; one process writes, others read with `readOnly`), `memory`,
   * `postgres://…`, or a KurrentDB at `esdb://…` or `kurrentdb://…`.
   */
  readonly store: string
  /**
   * If true, functions that record (`append`, `compact`, `editions.adopt`, …) throw `LedgerReadOnly`. A folder that
   * another process of the same machine and user has open is read through that process, between its transactions:
   * reads include everything appended so far, `behind` reports what lists and searches do not show yet, and `verify`
   * throws `LedgerBeingWritten`. A folder that no process has open is opened normally, and this process owns it until
   * `close`.
   */
  readonly readOnly?: boolean
  /**
   * Location of the read models, large bodies and claims of a log in KurrentDB: `postgres://…` or a folder. A Postgres
   * log keeps them in the same database.
   */
  readonly database?: string
  /**
   * If true, a new ledger is created as an erasable one: every text is encrypted, and `admin.erasure` can erase it. An
   * existing ledger keeps what it is; if it has events and is not erasable, this throws `NotErasable`.
   */
  readonly erasable?: boolean
  /**
   * Where the keys of an erasable ledger are: a folder, the address of a key vault, or a key vault. Default:
   * `CONTEXT_LEDGER_KEYS`, or a folder of this user outside the ledger. Keep a copy of the keys in another place than
   * copies of the ledger.
   */
  readonly keys?: string | KeyVault
  /**
   * The summarizer: `extractive` (no model, no key), `openai` (model, address and key of the environment:
   * `OPENAI_MODEL`, `OPENAI_BASE_URL`, `OPENAI_API_KEY`, or `CONTEXT_LEDGER_MODEL` and so on, which win), the
   * configuration of a model, a function `async (messages) => text`, or an implementation of `Summarizer`.
   */
  readonly summarizer?: 'extractive' | 'openai' | SummarizerConfig | SummarizeMessages | Summarizer
  /** Policy of appends through this ledger; recorded. If absent, each conversation keeps its own. */
  readonly policy?: PolicySettings
  /**
   * Name of the token estimator for appends through this ledger; recorded. Register it with `registerEstimator` first.
   * If absent, a conversation keeps its own, and a new conversation uses the default.
   */
  readonly estimator?: string
  /** Text in the summarizer's prompt that describes the reader of the summaries. */
  readonly persona?: string
  /** Enables semantic search. */
  readonly embedding?: EmbeddingConfig
  /**
   * `inside` (default): this process runs projections and compaction. `elsewhere`: separate processes do
   * (`projections run`, `compaction run`).
   */
  readonly workers?: 'inside' | 'elsewhere'
  /** Prices by model name, for `stats`. Other known models have the list price that this version contains. */
  readonly prices?: PriceTable
  /**
   * Whether this process summarizes complete chunks before a limit requires them. Default true. Set it to false in a
   * process that ends directly after its appends, which would otherwise wait for these summaries.
   */
  readonly ahead?: boolean
  /** Actor that is recorded with every event. Default `library`. */
  readonly actor?: string
  /** Source of times and ids. Default: the system clock and random ids. */
  readonly clock?: Clock
  /**
   * Milliseconds after which a summarizer without an answer counts as failed, even if it ignores its signal. Default:
   * ten minutes.
   */
  readonly summarizerTimeoutMs?: number
  /**
   * Called with background errors: a compaction that failed after an append, a projection that stopped. Errors that it
   * throws are ignored. If absent, the first problem is emitted as a process warning (`CONTEXT_LEDGER_PROBLEM`).
   */
  readonly onProblem?: (problem: unknown) => void
  /**
   * Called with a sentence for people if opening takes time or changes the store: the ledger is created, the lock of
   * another machine is checked, or tables of an earlier version are upgraded.
   */
  readonly onOpening?: (sentence: string) => void
  /**
   * Called with each request for a summary that is sent to a model, including repeated ones. A strategy without a
   * model sends none. Errors that it throws are reported to `onProblem`.
   */
  readonly onRequest?: (request: SummaryRequest) => void
}

/** A request to a model that is being sent. */
export interface SummaryRequest {
  /** A chunk of messages, or batches that become one. */
  readonly kind: 'chunk' | 'resummarize'
  /** SHA-256 (hex) of the request. A repeated request has the same. */
  readonly requestHash: string
  /** The model's name. */
  readonly model: string
  /** Tokens of the request, estimated. */
  readonly promptTokens: number
  /** Resolves when the request is answered or has failed; never rejects. */
  readonly answered: Promise<void>
}

/** The actor of a change. */
export interface ActorOptions {
  /** Recorded with the event. Default: the actor of the ledger. */
  readonly actor?: string
}

/** The request and the actor of a change. */
export interface RequestOptions extends ActorOptions {
  /** Id of the request; recorded with every event of the change. */
  readonly correlationId?: string
}

/** Options of an append; recorded with the messages. */
export interface AppendOptions extends RequestOptions {
  /** Policy settings from now on; they override those of the ledger and the recorded ones. */
  readonly policy?: PolicySettings
  /** Tenant or owner. Set with the first message; cannot change. */
  readonly scope?: string
  /**
   * Expected revision of the conversation's last event; -1 for a new conversation. If the conversation has another
   * revision, nothing is appended (`RevisionNotExpected`). Repeating an append that is already recorded is no conflict.
   */
  readonly expectedRevision?: number
  /**
   * If true, the messages are one unit: if some of their ids are already recorded and others are not, nothing is
   * appended (`PartlyRecorded`). Every message needs an id.
   */
  readonly atomic?: boolean
}

/** Options of an observation; recorded with it. */
export type ObserveOptions = Omit<AppendOptions, 'expectedRevision' | 'atomic'>

/** Result of an append. */
export interface AppendResult {
  /** The conversation. */
  readonly conversationId: string
  /** Revision of the conversation's last event. */
  readonly revision: number
  /** Ids of the messages that this append recorded, without those that were already recorded. */
  readonly recorded: readonly string[]
  /** Position of the last event that this append recorded. */
  readonly position: number | undefined
}

/** Read-your-writes: wait until the read models include a position that an append returned. */
export interface WaitOptions {
  /** Default: everything that this ledger recorded itself. */
  readonly waitFor?: number
  /** Milliseconds, default 5,000; then `ProjectionsBehind` is thrown. */
  readonly timeout?: number
}

/**
 * A moment of a conversation. A `number`, or a text of digits as `answers.revision` has it, is a revision. A `Date`, or
 * an ISO 8601 text with its zone (`2026-03-01T12:30:00Z`), is an instant of the ledger's clock and selects the last
 * event recorded at or before it. Any other text is the id of a message and selects the revision of its event. If an id
 * looks like a revision or a time, write `message:ID`.
 */
export type At = number | Date | string
