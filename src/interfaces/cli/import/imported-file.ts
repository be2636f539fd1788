/** The result of importing a file, counted from the log, and its output line. */
import { isStoreError } from '../../../ports/store-error.js'
import { LedgerError, isLedgerError } from '../../../lib/ledger-error.js'
import type { Ledger } from '../../../library/ledger.js'

import type { Titles } from '../../../library/titles.js'
import { idWithTitle } from '../titles.js'
import { colours, count, many, typed } from '../output.js'

export interface ImportedFile {
  readonly file: string
  readonly conversationId: string
  recorded: number
  alreadyThere: number
  /** Messages that name an erased person. They are not recorded. */
  ofErased: number
  /** Cycles, batches and so on of this import only. */
  cycles: number
  batches: number
  resummarized: number
  failures: number
  messageTokens: number
  contextTokens: number
  /** Losses of all its cycles that matter, as `forgotten` counts them. Present if this import recorded cycles. */
  lost?: number
  revision: number
  /** Why the recorded messages have no context. */
  unusable?: LedgerError
}

/** The initial result. @param before revision of the conversation's last event */
export const nothingImported = (file: string, conversationId: string, before: number): ImportedFile => ({
  file,
  conversationId,
  recorded: 0,
  alreadyThere: 0,
  ofErased: 0,
  cycles: 0,
  batches: 0,
  resummarized: 0,
  failures: 0,
  messageTokens: 0,
  contextTokens: 0,
  revision: before,
})

/** Revision of the conversation's last event before the import; -1 for a new conversation. */
export async function revisionBefore(ledger: Ledger, conversationId: string): Promise<number> {
  try {
    return (await ledger.context(conversationId)).revision
  } catch (error) {
    // If leading or pinned messages do not fit, there is no context; count the log from the start.
    if (isLedgerError(error, 'NoSuchConversation', 'LeadingTooLarge', 'PinnedTooLarge')) return -1
    throw error
  }
}

/** Counts the result from the events after revision `before`. */
export async function countRecorded(ledger: Ledger, imported: ImportedFile, before: number): Promise<void> {
  if (imported.revision < 0) return
  for await (const event of ledger.log(imported.conversationId, { from: before + 1 })) {
    if (event.type === 'MessageAppended') imported.messageTokens += event.data.tokens
    else if (event.type === 'MessagesPruned') imported.cycles += 1
    else if (event.type === 'BatchArchived') imported.batches += 1
    else if (event.type === 'BatchesResummarized') imported.resummarized += 1
    else if (event.type === 'CompactionFailed') imported.failures += 1
    imported.revision = event.revision
  }
  // The ledger caches the count, so that lists have it.
  if (imported.cycles > 0) imported.lost = (await ledger.forgotten(imported.conversationId)).totals.all.losses
  try {
    imported.contextTokens = (await ledger.context(imported.conversationId)).tokens
  } catch (error) {
    if (!isLedgerError(error) || isStoreError(error)) throw error
    imported.unusable = error
  }
}

/** The output line. */
export const importedLine = (imported: ImportedFile, titles: Titles): string => {
  const parts = [
    `${many(imported.recorded, 'message')} recorded`,
    ...(imported.alreadyThere === 0 ? [] : [`${count(imported.alreadyThere)} already recorded`]),
    ...(imported.ofErased === 0
      ? []
      : [colours.yellow(`${count(imported.ofErased)} left out, because they name an erased person`)]),
    many(imported.cycles, 'cycle'),
    ...(imported.lost === undefined || imported.lost === 0 ? [] : [many(imported.lost, 'loss', 'losses')]),
    many(imported.batches, 'batch', 'batches'),
    ...(imported.resummarized === 0 ? [] : [`${count(imported.resummarized)} re-summarized`]),
    ...(imported.failures === 0
      ? []
      : [
          colours.yellow(
            `${many(imported.failures, 'failed compaction')} (see \`context-ledger log ${typed(imported.conversationId)}\`)`,
          ),
        ]),
    `${count(imported.messageTokens)} tokens, context ${count(imported.contextTokens)}`,
  ]
  return `${idWithTitle(imported.conversationId, titles)}: ${parts.join(', ')}`
}
