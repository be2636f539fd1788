/**
 * `compress(history, conversationId)`: records the changes of a host's list, compacts if a limit is reached, and
 * returns the context. It never throws. On an error the host keeps its own list, and nothing is recorded in part.
 */
import { either as E } from 'fp-ts'
import { LRUCache } from 'lru-cache'
import { contextOf, type NoContext } from '../../domain/compaction/context.js'
import type { Provenance } from '../../domain/events/codec.js'
import { checkId, type BadId } from '../../domain/values/ids.js'
import type { ChatMessage, MessageInput, NewMessage } from '../../domain/values/message.js'
import type { BadMessage } from '../../domain/values/parse-message.js'
import { defaultEstimator, messageTokens } from '../../domain/values/tokens.js'
import type { CommandFailure } from '../recording/handle-command.js'
import { createAlignList } from './align-list.js'
import type { CompactFailure, Compaction } from './compact.js'
import { compactedSince } from './compacted-since.js'
import { shownContextOf, liveOf, type ShownContext } from './handed-out.js'
import { toHostMessages, copyList, listOrEmpty, asMutableList, parseList } from './host-list.js'
import { recordList, type HistoryDiverged, type RecordListDependencies } from './record-list.js'

/** The result of `compress`: the context, and how much of the list was compacted. */
export interface Compressed<Message> {
  /** The context: the host's own objects for unchanged messages, after the view. */
  readonly history: (Message | ChatMessage)[]
  /** Batches that `history` shows and the list did not, by any process. */
  readonly batchesCreated: number
  /** Messages of the list that batches replaced. */
  readonly messagesCompressed: number
  /** Tokens of the list that was passed in. */
  readonly tokensEstimateBefore: number
  /** Tokens of the list that is returned. */
  readonly tokensEstimateAfter: number
  /**
   * Revision and hash of this context. An answer that is appended with them as its `answers` records what the model
   * saw. Omitted if the list could not be used.
   */
  readonly answers?: { readonly revision: string; readonly hash: string }
  /** The error, if any, with the same kinds as the library's failures. `history` is still usable. */
  readonly error?: CompressError
}

/** Options of `compress`. */
interface CompressOptions {
  readonly actor?: string
}

/** The error as data. */
interface CompressError {
  readonly kind: string
  /** One sentence for people. */
  readonly message: string
  readonly [about: string]: unknown
}

export type CompressFailure = BadId | BadMessage | NoContext | CommandFailure | HistoryDiverged

export interface CompressDependencies extends RecordListDependencies {
  /** Throws if the ledger is closed or an option is invalid; returns the provenance of the request. */
  readonly open: (options: CompressOptions | undefined) => Provenance
  /** Runs all due compactions and waits for them. */
  readonly compact: (conversationId: string, provenance: Provenance) => Promise<Compaction>
  /** Called with every error. It never throws. */
  readonly onProblem: (problem: unknown) => void
  readonly describe: (problem: unknown) => CompressError
  /** The error that listeners get for a failure. */
  readonly errorOf: (failure: CompressFailure) => Error
}

function nextOf(ids: Iterator<string>): string | undefined {
  const next = ids.next()
  return next.done === true ? undefined : next.value
}

export function createCompress(deps: CompressDependencies) {
  const { log, conversations, onProblem, describe } = deps
  const align = createAlignList(log)
  /** The context that this process returned last, by conversation. */
  const handedOut = new LRUCache<string, ShownContext>({ max: 1_000 })

  /** Records the list, compacts if due, and returns the resulting context. */
  async function recordAndCompact<Message extends MessageInput>(
    hostList: readonly Message[],
    history: readonly Message[],
    parsed: readonly NewMessage[],
    conversationId: string,
    provenance: Provenance,
  ): Promise<
    E.Either<
      CompressFailure,
      Omit<Compressed<Message>, 'tokensEstimateBefore' | 'error'> & { readonly failure: CompactFailure | undefined }
    >
  > {
    const listed = await recordList(deps, align, parsed, conversationId, handedOut.get(conversationId), provenance)
    if (E.isLeft(listed)) return listed
    const { aligned, recorded } = listed.right
    const outcome = await deps.compact(conversationId, provenance)
    if (outcome.failure !== undefined) onProblem(outcome.failure)
    const state = await conversations.load(conversationId)
    const contextNow = contextOf(state)
    if (E.isLeft(contextNow)) return contextNow
    const context = contextNow.right
    handedOut.set(conversationId, shownContextOf(context, state))
    const news = recorded.values()
    const placed = aligned.placed.map((each) =>
      each.isNew ? { ...each, messageId: nextOf(news) ?? each.messageId } : each,
    )
    const live = new Map(liveOf(state).map((message) => [message.messageId, message]))
    const unchanged =
      context.messages.length === history.length &&
      context.messageIds.every((shownId, at) => {
        const each = placed[at]
        return each?.messageId === shownId && (shownId === undefined || each?.exact === true)
      }) &&
      context.adapted === undefined
    return E.right({
      history: unchanged ? asMutableList(hostList) : toHostMessages(history, placed, context, live),
      batchesCreated: state.visibleBatches.filter(({ batchId }) => !aligned.batches.has(batchId)).length,
      messagesCompressed: placed.filter(({ messageId }) => messageId !== undefined && !live.has(messageId)).length,
      tokensEstimateAfter: context.tokens,
      answers: { revision: context.revision.toString(), hash: context.hash },
      failure: outcome.failure ?? (await compactedSince(log, conversationId, aligned.state.revision)).failure,
    })
  }

  return async function compress<Message extends MessageInput>(
    hostList: readonly Message[],
    conversationId: string,
    options?: CompressOptions,
  ): Promise<Compressed<Message>> {
    let tokensEstimateBefore = 0

    function unused(problem: unknown): Compressed<Message> {
      onProblem(problem)
      return {
        history: listOrEmpty(hostList),
        batchesCreated: 0,
        messagesCompressed: 0,
        tokensEstimateBefore,
        tokensEstimateAfter: tokensEstimateBefore,
        error: describe(problem),
      }
    }

    try {
      const provenance = deps.open(options)
      const id = checkId('conversationId', conversationId)
      if (E.isLeft(id)) return unused(deps.errorOf(id.left))
      const history = copyList(hostList)
      if (E.isLeft(history)) return unused(deps.errorOf(history.left))
      const parsed = parseList(history.right)
      if (E.isLeft(parsed)) return unused(deps.errorOf(parsed.left))
      tokensEstimateBefore = parsed.right.reduce((sum, message) => sum + messageTokens(message, defaultEstimator), 0)
      const compressed = await recordAndCompact(hostList, history.right, parsed.right, conversationId, provenance)
      if (E.isLeft(compressed)) return unused(deps.errorOf(compressed.left))
      const { failure, ...done } = compressed.right
      return { ...done, tokensEstimateBefore, ...(failure === undefined ? {} : { error: describe(failure) }) }
    } catch (error) {
      return unused(error)
    }
  }
}
