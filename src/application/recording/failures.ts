/** Error messages for conversations and prompts that are not recorded. */
import { didYouMean } from '../../domain/text/known-names.js'
import type { Sentences } from '../../domain/values/failure-sentences.js'

/** `nearest`: the one that was probably meant. */
export type NotRecorded =
  | { readonly kind: 'NoSuchConversation'; readonly conversationId: string; readonly nearest?: string }
  | { readonly kind: 'NoSuchPrompt'; readonly which: string; readonly nearest?: string }

/** Their messages. */
export const recordingSentences: Sentences<NotRecorded> = {
  NoSuchConversation: (failure) =>
    `there is no conversation "${failure.conversationId}" in this ledger${didYouMean(failure.nearest)}`,
  NoSuchPrompt: (failure) =>
    `there is no prompt "${failure.which}" in the registry${didYouMean(failure.nearest)}; \`prompts\` lists them`,
}
