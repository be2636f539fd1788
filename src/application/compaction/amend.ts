/** `amend`: withdraws messages and appends others in one append. The withdrawn messages stay in the log. */
import { either as E } from 'fp-ts'
import type { Command, MessageToAppend } from '../../domain/decide/index.js'
import type { EventData, ObservedEntry } from '../../domain/events/index.js'
import type { Provenance } from '../../domain/events/codec.js'
import { bodyOf } from '../../domain/values/message.js'
import type { CommandFailure, Handled } from '../recording/handle-command.js'
import { recordedId, redactorFor, settingsAfter } from '../recording/redaction.js'
import { commandsFor, type HistoryDiverged, type RecordListDependencies } from './record-list.js'
import { createSourceLists } from './source-list.js'

/** A compaction of another program, as far as it is known. */
export interface AmendedBy extends Pick<
  EventData<'CompactionObserved'>,
  'program' | 'programVersion' | 'sourceId' | 'trigger' | 'summary'
> {
  /** The program's list directly after it; undefined if that is what is appended. */
  readonly context: readonly ObservedEntry[] | undefined
}

/** The requested change. */
export interface Amendment {
  readonly conversationId: string
  /** Messages to withdraw, or all of them. */
  readonly withdraw: readonly string[] | 'all'
  readonly append: readonly MessageToAppend[]
  /** A compaction by another program, recorded before the appended messages. It changes no context by itself. */
  readonly compaction: AmendedBy | undefined
  /** The revision on which the caller decided; undefined for the current one. */
  readonly expected: number | undefined
  readonly provenance: Provenance
}

/** A message to withdraw or keep is not in the conversation. */
export type MessageNotFound = { readonly kind: 'NotSaid'; readonly conversationId: string; readonly messageId: string }

export type AmendFailure = CommandFailure | HistoryDiverged | MessageNotFound

/** The number of attempts if other processes append meanwhile and no revision was expected. */
const ATTEMPTS = 50

/** The compaction as an event. Its messages are recorded after it. */
const observedOf = (
  conversationId: string,
  { context, ...compaction }: AmendedBy,
  append: readonly MessageToAppend[],
): Command => ({
  type: 'ObserveCompaction',
  compaction: {
    ...compaction,
    unknown: [],
    context: [
      ...(context ??
        append.map((message, at): ObservedEntry => ({
          kind: 'inserted',
          body: bodyOf(message),
          ...(at === 0 ? { isSummary: true as const } : {}),
        }))),
    ],
    told: {},
    where: { file: conversationId },
  },
})

export function createAmend(deps: RecordListDependencies) {
  const { log, conversations, onRecorded } = deps
  const sourceLists = createSourceLists(log)

  return async ({
    conversationId,
    withdraw: ids,
    append,
    compaction,
    expected,
    provenance,
  }: Amendment): Promise<E.Either<AmendFailure, Handled>> => {
    for (let tries = 1; ; tries += 1) {
      const state = await conversations.load(conversationId)
      if (expected !== undefined && expected !== state.revision)
        return E.left({ kind: 'ConversationMoved', revision: state.revision, expected })
      const list = await sourceLists(conversationId, state.revision)
      const messages = [...list.leading, ...list.rest]
      const known = new Set(messages.map(({ messageId }) => messageId))
      const redactor = await redactorFor(log, settingsAfter(state, deps.configure().settings))
      if (E.isLeft(redactor)) return redactor
      const idOf = (id: string): string => recordedId(redactor.right, (each) => known.has(each), id)
      const withdrawIds = ids === 'all' ? known : new Set(ids.map(idOf))
      const withdraw = messages.filter(({ messageId }) => withdrawIds.has(messageId))
      const keptIds = (compaction?.context ?? []).flatMap((entry) =>
        entry.kind === 'message' ? [idOf(entry.messageId)] : [],
      )
      const missing = [...withdrawIds, ...keptIds].find((id) => !known.has(id))
      if (missing !== undefined) return E.left({ kind: 'NotSaid', conversationId, messageId: missing })
      const why = append.length === 0 ? 'rewound' : 'edited'
      const commands = await commandsFor(deps, { state, withdraw, why, append })
      if (E.isLeft(commands)) return commands
      const observed = compaction === undefined ? [] : [observedOf(conversationId, compaction, append)]
      const at = commands.right.findIndex(({ type }) => type === 'WithdrawMessages' || type === 'AppendMessages')
      const handled = await conversations.handle(
        conversationId,
        commands.right.toSpliced(at, 0, ...observed),
        provenance,
      )
      if (E.isRight(handled)) {
        onRecorded(handled.right, provenance)
        return handled
      }
      if (handled.left.kind !== 'ConversationMoved' || expected !== undefined || tries === ATTEMPTS) return handled
    }
  }
}
