/** Counts what an import would record. Reads every transcript completely, without a ledger. */
import { LedgerError } from '../../../lib/ledger-error.js'
import { messageTokens, defaultEstimator } from '../../../domain/values/tokens.js'
import { emptyResult, type RecordedConversation } from '../../../application/importers/recorded-transcript.js'
import { sessionConversationId } from '../../../domain/values/session-ids.js'
import { plainContentId } from '../../../application/importers/content-id.js'
import { importers, readTranscript, recognizeTranscript } from '../../../application/importers/index.js'
import type { DamageItem, TranscriptItem } from '../../../application/importers/transcript.js'
import type { ImportedTranscript } from '../../../library/ledger.js'

/** A counted transcript, with the tokens of its messages by the default estimator. */
export interface CountedTranscript extends ImportedTranscript {
  readonly tokens: number
}

/** Counts the items of a transcript. */
export async function countTranscript(
  file: string,
  program: string,
  scope: string | undefined,
  onItem: (item: TranscriptItem) => void,
  signal: AbortSignal,
): Promise<CountedTranscript> {
  const recognized = await recognizeTranscript(file)
  const importer = importers.find((each) => each.program === program)
  if (recognized === undefined || importer === undefined || recognized.importer !== importer)
    throw new LedgerError('NotOfProgram', `${file} is not a ${program} transcript`)
  const conversations = new Map<string, RecordedConversation>()
  const leftOut: Record<string, number> = {}
  const damage: DamageItem[] = []
  let current: RecordedConversation | undefined
  let tokens = 0
  for await (const item of readTranscript(file, importer, recognized.layout, plainContentId)) {
    signal.throwIfAborted()
    onItem(item)
    if (item.kind === 'left-out') leftOut[item.what] = (leftOut[item.what] ?? 0) + 1
    else if (item.kind === 'damage') damage.push(item)
    else if (item.kind === 'conversation') {
      current =
        conversations.get(item.sourceId) ?? emptyResult(sessionConversationId(program, item.sourceId, scope), item)
      conversations.set(item.sourceId, current)
    } else if (current !== undefined) {
      if (item.kind === 'message') {
        current.messages += 1
        tokens += messageTokens(item.body, defaultEstimator)
      } else if (item.kind === 'compaction') current.compactions += 1
      else if (item.kind === 'withdrawal') current.withdrawn += item.sourceIds.length
      else if (item.kind === 'edit') current.edits += 1
    }
  }
  return { file, program, unchanged: false, conversations: [...conversations.values()], leftOut, damage, tokens }
}
