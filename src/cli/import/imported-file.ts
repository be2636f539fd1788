/** What became of a file that was imported: counted from the log, and told in a line. */
import type { Ledger } from '../../library/ledger.js'
import { LedgerError } from '../../library/problem.js'
import { colours, count, many } from '../output.js'

export interface ImportedFile {
  readonly file: string
  readonly conversationId: string
  recorded: number
  alreadyThere: number
  /** Of this import alone. */
  cycles: number
  batches: number
  resummarized: number
  failures: number
  messageTokens: number
  contextTokens: number
  revision: bigint
  /** Why no context can be made of what is recorded. */
  unusable?: LedgerError
}

/** A file of which nothing is recorded so far. @param before revision of the conversation's last event */
export const nothingImported = (file: string, conversationId: string, before: bigint): ImportedFile => ({
  file,
  conversationId,
  recorded: 0,
  alreadyThere: 0,
  cycles: 0,
  batches: 0,
  resummarized: 0,
  failures: 0,
  messageTokens: 0,
  contextTokens: 0,
  revision: before,
})

/** Revision of the conversation's last event before the import; -1n where the conversation is new. */
export async function revisionBefore(ledger: Ledger, conversationId: string): Promise<bigint> {
  try {
    return (await ledger.context(conversationId)).revision
  } catch (error) {
    // Leading or pinned messages that do not fit leave no context; its log can be counted from the start.
    if (
      error instanceof LedgerError &&
      (error.failure.kind === 'NoSuchConversation' ||
        error.failure.kind === 'LeadingTooLarge' ||
        error.failure.kind === 'PinnedTooLarge')
    )
      return -1n
    throw error
  }
}

/** Counts what came of it, from the events behind `before`. */
export async function countRecorded(ledger: Ledger, done: ImportedFile, before: bigint): Promise<void> {
  if (done.revision < 0n) return
  for await (const event of ledger.log(done.conversationId, { from: before + 1n })) {
    if (event.type === 'MessageAppended') done.messageTokens += event.data.tokens
    else if (event.type === 'MessagesPruned') done.cycles += 1
    else if (event.type === 'BatchArchived') done.batches += 1
    else if (event.type === 'BatchesResummarized') done.resummarized += 1
    else if (event.type === 'CompactionFailed') done.failures += 1
    done.revision = event.revision
  }
  try {
    done.contextTokens = (await ledger.context(done.conversationId)).tokens
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error
    done.unusable = error
  }
}

/** A line for people. */
export const importedLine = (done: ImportedFile): string => {
  const parts = [
    `${many(done.recorded, 'message')} recorded`,
    ...(done.alreadyThere === 0 ? [] : [`${count(done.alreadyThere)} already there`]),
    many(done.cycles, 'cycle'),
    many(done.batches, 'batch', 'batches'),
    ...(done.resummarized === 0 ? [] : [`${count(done.resummarized)} re-summarized`]),
    ...(done.failures === 0 ? [] : [colours.yellow(`${many(done.failures, 'failed compaction')} (see log)`)]),
    `${count(done.messageTokens)} tokens in, context ${count(done.contextTokens)}`,
  ]
  return `${colours.bold(done.conversationId)}: ${parts.join(', ')}`
}
