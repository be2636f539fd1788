/**
 * `amend`: takes back the end of what a conversation says, and says something else in its place, in one append. What was
 * taken back stays in the log.
 */
import { either as E } from 'fp-ts'
import type { Command, MessageToAppend } from '../domain/decide/index.js'
import type { EventData, ObservedEntry } from '../domain/events/index.js'
import type { Provenance } from '../domain/events/codec.js'
import { bodyOf } from '../domain/values/message.js'
import type { CommandFailure, Handled } from '../recording/handle-command.js'
import { commandsFor, type HistoryDiverged, type RecordListDependencies } from './record-list.js'
import { createSaidLists } from './said-list.js'

/** Another program's compaction, as far as it is known. */
export interface AmendedBy extends Pick<
  EventData<'CompactionObserved'>,
  'program' | 'programVersion' | 'sourceId' | 'trigger' | 'summary'
> {
  /** The program's list right behind it; undefined where that is what is appended. */
  readonly context: readonly ObservedEntry[] | undefined
}

/** What a conversation is to say. */
export interface Amendment {
  readonly conversationId: string
  /** Messages that are taken back; or all of them. */
  readonly withdraw: readonly string[] | 'all'
  readonly append: readonly MessageToAppend[]
  /** What another program did, which is recorded in front of what is appended. It changes no context by itself. */
  readonly compaction: AmendedBy | undefined
  /** The revision that this was decided on; undefined for whatever it is now. */
  readonly expected: bigint | undefined
  readonly provenance: Provenance
}

/** A message is to be taken back, or to stay, that the conversation does not say. */
export type NotSaid = { readonly kind: 'NotSaid'; readonly conversationId: string; readonly messageId: string }

export type AmendFailure = CommandFailure | HistoryDiverged | NotSaid

/** How often it is decided anew where others record meanwhile and no revision was expected. */
const ATTEMPTS = 50

/** The compaction as a fact of its own. The messages that it put there are recorded behind it. */
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

/** Builds the use case. */
export function createAmend(deps: RecordListDependencies) {
  const { log, conversations, onRecorded } = deps
  const saidLists = createSaidLists(log)

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
        return E.left({ kind: 'ConversationMoved', revision: state.revision, known: expected })
      const list = await saidLists(conversationId, state.revision)
      const said = [...list.leading, ...list.rest]
      const wanted = new Set(ids === 'all' ? said.map(({ messageId }) => messageId) : ids)
      const withdraw = said.filter(({ messageId }) => wanted.has(messageId))
      const known = new Set(said.map(({ messageId }) => messageId))
      const kept = (compaction?.context ?? []).flatMap((entry) => (entry.kind === 'message' ? [entry.messageId] : []))
      const missing = [...wanted, ...kept].find((id) => !known.has(id))
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
