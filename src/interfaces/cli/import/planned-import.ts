/** The result of a dry run. */
import type { ImportedTranscript } from '../../../library/ledger.js'
import { colours, count, many, printable } from '../output.js'
import type { ImportedFile } from './imported-file.js'

interface PlannedConversation {
  readonly conversationId: string
  readonly file: string
  readonly messages: number
  readonly compactions: number
}

/** Tokens are by the default estimator; bytes are file sizes. */
export interface PlannedImport {
  readonly messages: number
  readonly tokens: number
  readonly bytes: number
  readonly compactions: number
  readonly programs: readonly string[]
  readonly conversations: readonly PlannedConversation[]
}

/** @param counted the files, the tokens of the transcripts, the bytes of all files */
export function plannedImport(counted: {
  readonly done: readonly ImportedFile[]
  readonly transcripts: readonly ImportedTranscript[]
  readonly tokens: number
  readonly bytes: number
}): PlannedImport {
  const { done, transcripts, tokens, bytes } = counted
  const conversations = [
    ...done.map(({ conversationId, file, recorded }) => ({
      conversationId,
      file,
      messages: recorded,
      compactions: 0,
    })),
    ...transcripts.flatMap(({ file, conversations: each }) =>
      each.map(({ conversationId, messages, compactions }) => ({ conversationId, file, messages, compactions })),
    ),
  ]
  return {
    messages: conversations.reduce((sum, { messages }) => sum + messages, 0),
    tokens: done.reduce((sum, { messageTokens }) => sum + messageTokens, tokens),
    bytes,
    compactions: conversations.reduce((sum, { compactions }) => sum + compactions, 0),
    programs: [...new Set(transcripts.map(({ program }) => program))].toSorted(),
    conversations,
  }
}

/** The output: one line for each conversation, then the total. */
export function plannedLines(planned: PlannedImport): readonly string[] {
  const { messages, tokens, bytes, compactions, programs, conversations } = planned
  const parts = [
    `${count(tokens)} tokens`,
    `${count(bytes)} bytes`,
    many(conversations.length, 'conversation'),
    many(compactions, 'compaction'),
    ...(programs.length === 0 ? [] : [`programs: ${programs.join(', ')}`]),
  ]
  return [
    ...conversations.map(
      (each) =>
        `${colours.bold(printable(each.conversationId))}: ${many(each.messages, 'message')}${each.compactions === 0 ? '' : `, ${many(each.compactions, 'compaction')}`}`,
    ),
    `Would import ${many(messages, 'message')} (dry run): ${parts.join(', ')}`,
  ]
}
