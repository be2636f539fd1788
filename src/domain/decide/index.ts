/**
 * What may be asked of a conversation, every way to be refused, and the rule that answers. `decide` is told and does not
 * look: the time and the summary's text come in with the command. A command that is already true gives no events.
 */
import { either as E } from 'fp-ts'
import type { Conversation } from '../conversation/conversation.js'
import { adoptEdition } from './adopt-edition.js'
import { appendMessages } from './append-messages.js'
import { archiveAndPrune } from './archive-and-prune.js'
import { configure } from './configure.js'
import type { Decision } from './decision.js'
import { dropEdition, recordComparison, startEdition } from './editions.js'
import { expectRevision } from './expect-revision.js'
import { editContribution, noteDamage, observeCompaction, observeConversation } from './observe.js'
import { pinMessage, unpinMessage } from './pin-message.js'
import { recordCouldNotHelp, recordFailure } from './record-failure.js'
import { recordChunk, setSummaryAside } from './record-summary.js'
import { recordResummarization } from './resummarize.js'
import { revertEdition } from './revert-edition.js'
import { undoCycles, type NoSuchCycle } from './undo-cycles.js'
import { withdrawMessages } from './withdraw-messages.js'

export type { MessageToAppend } from './append-messages.js'
export { lineageOf } from './lineage-of.js'
export { textOfSummary } from './observe.js'
export type { SummaryResult } from './record-summary.js'
export type { SetAside } from './waiting-summaries.js'

/** Every command, and the rule that answers it. */
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
  NoteDamage: noteDamage,
}

type Rules = typeof rules
type CommandType = keyof Rules
type CommandOf<Type extends CommandType> = {
  [T in Type]: Parameters<Rules[T]>[1] & { readonly type: T }
}[Type]

export type Command = CommandOf<CommandType>

/** These make the configuration, or need none. Every other command comes behind it. */
const NEEDS_NO_CONFIGURATION: ReadonlySet<CommandType> = new Set(['Configure', 'Expect', 'StartEdition'])
type NotConfigured = { readonly kind: 'NotConfigured' }

/** Every way to be refused: each rule's own, which stand beside it. */
export type Rejection = NotConfigured | NoSuchCycle | Extract<ReturnType<Rules[CommandType]>, E.Left<unknown>>['left']

type RuleOf = { readonly [Type in CommandType]: (state: Conversation, command: CommandOf<Type>) => Decision<Rejection> }

/** The events that a command leads to, or why it is refused. */
export function decide<Type extends CommandType>(state: Conversation, command: CommandOf<Type>): Decision<Rejection> {
  if (state.configuration === undefined && !NEEDS_NO_CONFIGURATION.has(command.type))
    return E.left({ kind: 'NotConfigured' })
  const ruleOf: RuleOf = rules
  return ruleOf[command.type](state, command)
}
