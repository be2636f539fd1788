/** How to open a ledger, and the options that several of its functions share. */
import type { InputOf, OptionsOf } from '../schema/call.js'
import type * as common from '../schema/calls/common.js'
import type * as messageCalls from '../schema/calls/messages.js'
import type { embeddingModel, openLedger } from '../schema/calls/open-ledger.js'
import type * as transcriptCalls from '../schema/calls/transcripts.js'

export type { SummaryRequest } from '../schema/calls/open-ledger.js'

/** A model of an OpenAI-compatible embeddings API. */
export type EmbeddingConfig = InputOf<ReturnType<typeof embeddingModel>>

/** How to open a ledger. Only `store` is required. */
export type LedgerOptions = OptionsOf<typeof openLedger>

/** The actor of a change. */
export type ActorOptions = InputOf<ReturnType<typeof common.actor>>

/** The request and the actor of a change. */
export type RequestOptions = InputOf<ReturnType<typeof common.request>>

/** Options of an append; recorded with the messages. */
export type AppendOptions = OptionsOf<typeof messageCalls.append>

/** Options of an observation; recorded with it. */
export type ObserveOptions = OptionsOf<typeof transcriptCalls.observe>

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
export type WaitOptions = InputOf<ReturnType<typeof common.wait>>

export type { At } from '../schema/option-values.js'
