/** The part of the ledger's interface that concerns secrets. */
import type { RecordedSecret } from '../audit/scan-secrets.js'
import type { PolicySettings } from '../domain/values/policy.js'

export type { RecordedSecret, SecretPlace } from '../audit/scan-secrets.js'

/** What to scan. */
export interface ScanSecretsOptions {
  /** Only this conversation. Default: all. */
  readonly conversationId?: string
  /** Called after each conversation, with the number of conversations so far. */
  readonly onConversation?: (done: number) => void
}

/** The secrets that recorded events contain. */
export interface SecretScan {
  /** The number of conversations that were read. */
  readonly conversations: number
  readonly secrets: readonly RecordedSecret[]
}

/** Secrets: redaction as it is done before anything is recorded, and what older events contain. */
export interface LedgerSecrets {
  /**
   * Returns a function that redacts a JSON value as the ledger does before it records it.
   * @param policy settings that override those of the ledger
   */
  redactor(policy?: PolicySettings): Promise<<Value>(value: Value) => Value>
  /** Finds secrets in recorded events, and what may have shown them. Needs no model. */
  scan(options?: ScanSecretsOptions): Promise<SecretScan>
}
