/** Records the changes of a host's list: withdraws, appends, and undoes cycles that compacted withdrawn messages. */
import { either as E } from 'fp-ts'
import type { NoContext } from '../../domain/compaction/context.js'
import type { LiveMessage } from '../../domain/conversation/live-message.js'
import type { Command, MessageToAppend } from '../../domain/decide/index.js'
import type { Provenance } from '../../domain/events/codec.js'
import { messageHash, type NewMessage, definedFields, fieldsWith } from '../../domain/values/message.js'
import type { CommandFailure, Conversations, Handled } from '../recording/handle-command.js'
import { loadConversation, seeUntil, type Log } from '../recording/load-conversation.js'
import { originsInForce, spanOf } from '../recording/origins.js'
import { isOfType } from '../recording/read-event.js'
import { redactorFor, settingsAfter } from '../recording/redaction.js'
import type { Aligned, AlignList } from './align-list.js'
import { liveOf, type ShownContext } from './handed-out.js'
import { hostIdOf } from './host-list.js'
import type { SourceMessage } from './source-list.js'

/** The list contradicts compacted messages, and the batches that cover them cannot be deactivated. */
export type HistoryDiverged = {
  readonly kind: 'HistoryDiverged'
  readonly conversationId: string
  readonly messageId: string
  readonly detail: string
}

export interface RecordListDependencies {
  readonly log: Log
  readonly conversations: Pick<Conversations, 'load' | 'handle'>
  /** Configures a conversation that is recorded through this module. */
  readonly configure: () => Extract<Command, { type: 'Configure' }>
  readonly now: () => Date
  /** Called with the recorded events and their request, so that due work can start. */
  readonly onRecorded: (handled: Handled, provenance: Provenance) => void
}

/** The number of attempts if other processes append meanwhile. */
const ATTEMPTS = 50

/** Undoes the cycles that compacted withdrawn messages. */
async function undoCyclesOf(
  log: Log,
  { state }: Pick<Aligned, 'state'>,
  compacted: readonly SourceMessage[],
): Promise<E.Either<HistoryDiverged, Command>> {
  const { conversationId } = state
  const uncovered = new Set(compacted.map(({ messageId }) => messageId))
  const undone: { cycle: number; revision: number }[] = []
  let at: number | undefined
  let count = 0
  for await (const event of originsInForce(log, conversationId, state.lastOrigin)) {
    if (uncovered.size === 0 || isOfType(event, 'EditionAdopted')) break
    if (!isOfType(event, 'MessagesPruned')) continue
    undone.push({ cycle: event.data.cycle, revision: event.revision })
    const found = event.data.pruned.flatMap(({ messageIds }) => messageIds).filter((id) => uncovered.delete(id))
    if (found.length > 0) [at, count] = [spanOf(event).from, undone.length]
  }
  const [missing] = uncovered
  if (missing !== undefined || at === undefined) {
    return E.left({
      kind: 'HistoryDiverged',
      conversationId,
      messageId: missing ?? '',
      detail:
        'the list has another past than what an adopted edition has compacted: revert the edition, or give the list another conversation id',
    })
  }
  return E.right({
    type: 'UndoCycles',
    undone: undone.slice(0, count),
    before: await seeUntil(log, await loadConversation(log, conversationId, at), state.revision),
    toWithdraw: true,
    lateSummaries: [],
  })
}

/** A repeated message keeps the recorded metadata of the withdrawn one. */
function renewed(message: MessageToAppend, withdrawn: readonly LiveMessage[]): MessageToAppend {
  const hostMessageId = message.givenId ?? message.messageId
  const before =
    withdrawn.find((live) => hostIdOf(live) === hostMessageId && messageHash(live) === messageHash(message)) ??
    withdrawn.find((live) => messageHash(live) === messageHash(message))
  if (before === undefined) return message
  const repeated = fieldsWith('isRepeated').filter((field) => message[field] === undefined)
  return {
    ...message,
    ...definedFields({ ...before, pinned: before.pinned ? true : undefined }, repeated),
  }
}

/** The messages to withdraw and append, decided on a state. */
export interface ListChange extends Pick<Aligned, 'state' | 'withdraw' | 'why' | 'append'> {
  /** The messages are a host's whole list, which may have a result without its call. */
  readonly isHostList?: true
}

/** The commands that record the changes. */
export async function commandsFor(
  { log, configure, now }: Pick<RecordListDependencies, 'log' | 'configure' | 'now'>,
  aligned: ListChange,
): Promise<E.Either<HistoryDiverged, Command[]>> {
  const { state, withdraw, why, append, isHostList } = aligned
  const live = new Map(liveOf(state).map((message) => [message.messageId, message]))
  const compacted = withdraw.filter(({ messageId }) => !live.has(messageId))
  const withdrawnLive = withdraw.flatMap(({ messageId }) => live.get(messageId) ?? [])
  const messages = append.map((message) => renewed(message, withdrawnLive))
  const undo = compacted.length === 0 ? undefined : await undoCyclesOf(log, aligned, compacted)
  if (undo !== undefined && E.isLeft(undo)) return undo
  return E.right([
    { type: 'Expect', revision: state.revision },
    ...(undo === undefined ? [] : [undo.right]),
    configure(),
    ...(withdraw.length === 0
      ? []
      : [{ type: 'WithdrawMessages' as const, messageIds: withdraw.map(({ messageId }) => messageId), why }]),
    {
      type: 'AppendMessages',
      messages,
      now: now().toISOString(),
      ...(isHostList === undefined ? {} : { isHostList }),
    },
  ])
}

export interface RecordedList {
  readonly aligned: Aligned
  readonly recorded: readonly string[]
}

/** Records the changes of the list on the current state. */
export async function recordList(
  deps: RecordListDependencies,
  align: AlignList,
  history: readonly NewMessage[],
  conversationId: string,
  known: ShownContext | undefined,
  provenance: Provenance,
): Promise<E.Either<NoContext | CommandFailure | HistoryDiverged, RecordedList>> {
  const { conversations, onRecorded } = deps
  for (let tries = 1; ; tries += 1) {
    const state = await conversations.load(conversationId)
    const redactor = await redactorFor(deps.log, settingsAfter(state, deps.configure().settings))
    if (E.isLeft(redactor)) return redactor
    const list = redactor.right?.json(history)
    const aligned = await align(list?.value ?? history, state, known, redactor.right)
    if (E.isLeft(aligned)) return aligned
    const commands = await commandsFor(deps, { ...aligned.right, isHostList: true })
    if (E.isLeft(commands)) return commands
    const handled = await conversations.handle(conversationId, commands.right, provenance, list?.replacements)
    if (E.isRight(handled)) {
      onRecorded(handled.right, provenance)
      const recorded = handled.right.events.flatMap((event) =>
        event.type === 'MessageAppended' ? [event.data.messageId] : [],
      )
      return E.right({ aligned: aligned.right, recorded })
    }
    if (handled.left.kind !== 'ConversationMoved' || tries === ATTEMPTS) return handled
  }
}
