/** The part of the ledger's interface that concerns secrets. */
import type { OptionsOf } from '../schema/call.js'
import type * as calls from '../schema/calls/history.js'
import type { RecordedSecret } from '../application/audit/scan-secrets.js'
import type { PolicySettings } from '../domain/values/policy-settings.js'

export type {
  ExposedContext,
  ExposedSummary,
  ExposedToolResult,
  RecordedSecret,
  SecretExposure,
  SecretPlace,
} from '../application/audit/scan-secrets.js'

/** What to scan. */
export type ScanSecretsOptions = OptionsOf<typeof calls.scanSecrets>

/** The secrets that recorded events contain. */
export interface SecretScan {
  /** The number of conversations that were read. */
  readonly conversations: number
  /** The secrets, by conversation. */
  readonly secrets: readonly RecordedSecret[]
}

/** Redaction of secrets, and the search for secrets in recorded events. */
export interface LedgerSecrets {
  /**
   * Returns a function that redacts a JSON value as the ledger does before it records it.
   * @param policy settings that override those of the ledger
   */
  redactor(policy?: PolicySettings): Promise<<Value>(value: Value) => Value>
  /** Finds secrets in recorded events, and what had them: contexts, summaries and tools. Needs no model. */
  scan(options?: ScanSecretsOptions): Promise<SecretScan>
}
