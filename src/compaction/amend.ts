/**
 * `amend`: takes back the end of what a conversation says, and says something else in its place, in one append. What was
 * taken back stays in the log.
 */
import { either as E } from 'fp-ts'
import type { MessageToAppend } from '../domain/decide/index.js'
import type { Provenance } from '../domain/events/codec.js'
import type { CommandFailure, Handled } from '../recording/handle-command.js'
import { commandsFor, type HistoryDiverged, type RecordListDependencies } from './record-list.js'
import { createSaidLists } from './said-list.js'

/** What a conversation is to say. */
export interface Amendment {
  readonly conversationId: string
  /** Messages that are taken back; or all of them. */
  readonly withdraw: readonly string[] | 'all'
  readonly append: readonly MessageToAppend[]
  /** The revision that this was decided on; undefined for whatever it is now. */
  readonly expected: bigint | undefined
  readonly provenance: Provenance
}

/** A message is to be taken back that the conversation does not say. */
export type NotSaid = { readonly kind: 'NotSaid'; readonly conversationId: string; readonly messageId: string }

export type AmendFailure = CommandFailure | HistoryDiverged | NotSaid

/** How often it is decided anew where others record meanwhile and no revision was expected. */
const ATTEMPTS = 50

/** Builds the use case. */
export function createAmend(deps: Omit<RecordListDependencies, 'provenance'>) {
  const { log, conversations, onRecorded } = deps
  const saidLists = createSaidLists(log)

  return async ({
    conversationId,
    withdraw: ids,
    append,
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
      const missing = [...wanted].find((id) => !withdraw.some(({ messageId }) => messageId === id))
      if (missing !== undefined) return E.left({ kind: 'NotSaid', conversationId, messageId: missing })
      const why = append.length === 0 ? 'rewound' : 'edited'
      const commands = await commandsFor(deps, { state, withdraw, why, append })
      if (E.isLeft(commands)) return commands
      const handled = await conversations.handle(conversationId, commands.right, provenance)
      if (E.isRight(handled)) {
        onRecorded(handled.right)
        return handled
      }
      if (handled.left.kind !== 'ConversationMoved' || expected !== undefined || tries === ATTEMPTS) return handled
    }
  }
}
