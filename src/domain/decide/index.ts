/**
 * All commands, their rejections, and the rule that decides each. `decide` is pure: the command contains the time and
 * the text of the summary. A command that changes nothing returns no events.
 */
import { either as E } from 'fp-ts'
import type { Conversation } from '../conversation/conversation.js'
import { adoptEdition } from './adopt-edition.js'
import { appendMessages } from './append-messages.js'
import { archiveAndPrune } from './archive-and-prune.js'
import { configure } from './configure.js'
import type { Decision } from './decision.js'
import {
  completeErasure,
  expectNoErasure,
  requestErasure,
  type ConversationErased,
  type ErasurePending,
} from './erase.js'
import { dropEdition, recordComparison, startEdition } from './editions.js'
import { expectRevision } from './expect-revision.js'
import { editContribution, noteDamage, observeCompaction, observeConversation, titleConversation } from './observe.js'
import { pinMessage, unpinMessage } from './pin-message.js'
import { recordCouldNotHelp, recordFailure } from './record-failure.js'
import { recordChunk, setSummaryAside } from './record-summary.js'
import { recordResummarization } from './resummarize.js'
import { revertEdition } from './revert-edition.js'
import { addRule, judgeRule, recordRuleReview } from './rules.js'
import { undoCycles, type NoSuchCycle } from './undo-cycles.js'
import { withdrawMessages } from './withdraw-messages.js'

export { inParts, partlyRecorded, type MessageToAppend } from './append-messages.js'
export { lineageOf } from './lineage-of.js'
export { timesSentBefore } from './record-failure.js'
export { textOfSummary } from './observe.js'
export type { SummaryResult } from './record-summary.js'
export type { LateSummary as SetAside } from './waiting-summaries.js'

/** The rule of each command. */
const rules = {
  Configure: configure,
  Expect: expectRevision,
  AppendMessages: appendMessages,
  WithdrawMessages: withdrawMessages,
  PinMessage: pinMessage,
  UnpinMessage: unpinMessage,
  RecordChunk: recordChunk,
  SetSummaryAside: setSummaryAside,
  ArchiveAndPrune: archiveAndPrune,
  RecordResummarization: recordResummarization,
  RecordFailure: recordFailure,
  RecordCouldNotHelp: recordCouldNotHelp,
  StartEdition: startEdition,
  DropEdition: dropEdition,
  RecordComparison: recordComparison,
  AdoptEdition: adoptEdition,
  RevertEdition: revertEdition,
  UndoCycles: undoCycles,
  ObserveConversation: observeConversation,
  ObserveCompaction: observeCompaction,
  EditContribution: editContribution,
  TitleConversation: titleConversation,
  NoteDamage: noteDamage,
  JudgeRule: judgeRule,
  AddRule: addRule,
  RecordRuleReview: recordRuleReview,
  ExpectNoErasure: expectNoErasure,
  RequestErasure: requestErasure,
  CompleteErasure: completeErasure,
}

type Rules = typeof rules
type CommandType = keyof Rules
type CommandOf<Type extends CommandType> = {
  [T in Type]: Parameters<Rules[T]>[1] & { readonly type: T }
}[Type]

export type Command = CommandOf<CommandType>

/** These commands create the configuration, or need none. All others require it. */
const NEEDS_NO_CONFIGURATION: ReadonlySet<CommandType> = new Set([
  'Configure',
  'Expect',
  'ExpectNoErasure',
  'StartEdition',
])
/** These commands are possible in a conversation that was erased as a whole. */
const POSSIBLE_IF_ERASED: ReadonlySet<CommandType> = new Set(['Expect', 'RequestErasure', 'CompleteErasure'])
/** These commands copy earlier texts, or were made from them. */
const COPIES_TEXT: ReadonlySet<CommandType> = new Set([
  'RecordChunk',
  'SetSummaryAside',
  'ArchiveAndPrune',
  'RecordResummarization',
  'RecordFailure',
  'RecordComparison',
  'AdoptEdition',
  'RevertEdition',
  'UndoCycles',
])
type NotConfigured = { readonly kind: 'NotConfigured' }

/** All rejections, from the results of the rules. */
export type Rejection =
  | NotConfigured
  | ConversationErased
  | ErasurePending
  | NoSuchCycle
  | Extract<ReturnType<Rules[CommandType]>, E.Left<unknown>>['left']

type RuleOf = { readonly [Type in CommandType]: (state: Conversation, command: CommandOf<Type>) => Decision<Rejection> }

/** The events of a command, or the reason for its rejection. */
export function decide<Type extends CommandType>(state: Conversation, command: CommandOf<Type>): Decision<Rejection> {
  if (state.configuration === undefined && !NEEDS_NO_CONFIGURATION.has(command.type))
    return E.left({ kind: 'NotConfigured' })
  if (state.isErased && !POSSIBLE_IF_ERASED.has(command.type))
    return E.left({ kind: 'ConversationErased', conversationId: state.conversationId })
  if (COPIES_TEXT.has(command.type) && (state.erasure?.pending.length ?? 0) > 0)
    return E.left({ kind: 'ErasurePending', conversationId: state.conversationId })
  const ruleOf: RuleOf = rules
  return ruleOf[command.type](state, command)
}
