/** What an import would read, without a ledger: every transcript is read to its end, and nothing is recorded. */
import { nothingRecorded, type RecordedConversation } from '../../importers/record-transcript.js'
import { importers, readTranscript, recognizeTranscript } from '../../importers/index.js'
import type { DamageItem } from '../../importers/transcript.js'
import type { ImportedTranscript } from '../../library/ledger.js'
import { InputError } from '../errors.js'

/** Counts what a transcript says. */
export async function countTranscript(
  file: string,
  program: string,
  onBytes: () => void,
  signal: AbortSignal,
): Promise<ImportedTranscript> {
  const recognized = await recognizeTranscript(file)
  const importer = importers.find((each) => each.program === program)
  if (recognized === undefined || importer === undefined || recognized.importer !== importer)
    throw new InputError('NotOfProgram', `${file} is no transcript of ${program}`)
  const conversations = new Map<string, RecordedConversation>()
  const leftOut: Record<string, number> = {}
  const damage: DamageItem[] = []
  let current: RecordedConversation | undefined
  for await (const item of readTranscript(file, importer, recognized.layout)) {
    signal.throwIfAborted()
    onBytes()
    if (item.kind === 'left-out') leftOut[item.what] = (leftOut[item.what] ?? 0) + 1
    else if (item.kind === 'damage') damage.push(item)
    else if (item.kind === 'conversation') {
      current = conversations.get(item.sourceId) ?? nothingRecorded(program, item)
      conversations.set(item.sourceId, current)
    } else if (current !== undefined) {
      if (item.kind === 'message') current.messages += 1
      else if (item.kind === 'compaction') current.compactions += 1
      else if (item.kind === 'withdrawal') current.withdrawn += item.sourceIds.length
      else if (item.kind === 'edit') current.edits += 1
    }
  }
  return { file, program, unchanged: false, conversations: [...conversations.values()], leftOut, damage }
}
