/**
 * `compress(history, conversationId)`: makes what is recorded say what a host's list says, compacts where a limit asks
 * for it, and hands back the context. It never throws: whatever goes wrong, the host keeps the history that it gave,
 * and nothing half of it is recorded.
 */
import { either as E } from 'fp-ts'
import { LRUCache } from 'lru-cache'
import { contextOf, type NoContext } from '../domain/compaction/context.js'
import type { Provenance } from '../domain/events/codec.js'
import { checkId, type BadId } from '../domain/values/ids.js'
import type { BadMessage, ChatMessage, MessageInput, NewMessage } from '../domain/values/message.js'
import { defaultEstimator, messageTokens } from '../domain/values/tokens.js'
import type { CommandFailure } from '../recording/handle-command.js'
import { createAlignList } from './align-list.js'
import type { CompactFailure, Compaction } from './compact.js'
import { compactedSince } from './compacted-since.js'
import { handedOutBy, liveOf, type HandedOut } from './handed-out.js'
import { asHostsOwn, copied, givenBack, hostsOwn, parseList } from './host-list.js'
import { recordList, type HistoryDiverged, type RecordListDependencies } from './record-list.js'

/** What `compress` hands back: the context, and what was compacted of the list that was given. */
export interface Compressed<Message> {
  /** The context: the host's own objects where they stay, the view in front of them. */
  readonly history: (Message | ChatMessage)[]
  /** Batches that `history` shows and the list did not, whoever made them. */
  readonly batchesCreated: number
  /** Messages of the list that left it for batches. */
  readonly messagesCompressed: number
  /** Tokens of the list that was handed in. */
  readonly tokensEstimateBefore: number
  /** Tokens of the list that is handed back. */
  readonly tokensEstimateAfter: number
  /**
   * Revision and hash of this context: an answer that is appended with them as its `answers` names what the model saw.
   * Left out where the list could not be used.
   */
  readonly answers?: { readonly revision: string; readonly hash: string }
  /**
   * What went wrong, where something did: of the same kinds as the library's failures. `history` is usable all the
   * same.
   */
  readonly error?: CompressError
}

/** Who asks. */
interface AskedBy {
  readonly actor?: string
}

/** What went wrong, as data. */
interface CompressError {
  readonly kind: string
  /** One sentence for people. */
  readonly message: string
  readonly [about: string]: unknown
}

export type CompressFailure = BadId | BadMessage | NoContext | CommandFailure | HistoryDiverged

export interface CompressDependencies extends RecordListDependencies {
  /** Throws where the ledger is closed, or an option is wrong; says for which request it is recorded. */
  readonly open: (options: AskedBy | undefined) => Provenance
  /** Runs what is due and waits for it. */
  readonly compact: (conversationId: string, provenance: Provenance) => Promise<Compaction>
  /** Hears of whatever went wrong. It never throws. */
  readonly onProblem: (problem: unknown) => void
  readonly describe: (problem: unknown) => CompressError
  /** The error that whoever listens hears for a failure. */
  readonly errorOf: (failure: CompressFailure) => Error
}

function nextOf(ids: Iterator<string>): string | undefined {
  const next = ids.next()
  return next.done === true ? undefined : next.value
}

/** Builds `compress`. */
export function createCompress(deps: CompressDependencies) {
  const { log, conversations, onProblem, describe } = deps
  const align = createAlignList(log)
  /** What this process handed out last. */
  const handedOut = new LRUCache<string, HandedOut>({ max: 1_000 })

  /** Records the list, compacts what is due, and gives the context that comes of it. */
  async function recordAndCompact<Message extends MessageInput>(
    given: readonly Message[],
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
    const done = await deps.compact(conversationId, provenance)
    if (done.failure !== undefined) onProblem(done.failure)
    const state = await conversations.load(conversationId)
    const shown = contextOf(state)
    if (E.isLeft(shown)) return shown
    const context = shown.right
    handedOut.set(conversationId, handedOutBy(context, state))
    const news = recorded.values()
    const placed = aligned.placed.map((place) =>
      place.isNew ? { ...place, messageId: nextOf(news) ?? place.messageId } : place,
    )
    const live = new Map(liveOf(state).map((message) => [message.messageId, message]))
    const unchanged =
      context.messages.length === history.length &&
      context.messageIds.every((shownId, at) => placed[at]?.messageId === shownId) &&
      context.shortened === undefined
    return E.right({
      history: unchanged ? hostsOwn(given) : asHostsOwn(history, placed, context, live),
      batchesCreated: state.visibleBatches.filter(({ batchId }) => !aligned.batches.has(batchId)).length,
      messagesCompressed: placed.filter(({ messageId }) => messageId !== undefined && !live.has(messageId)).length,
      tokensEstimateAfter: context.tokens,
      answers: { revision: context.revision.toString(), hash: context.hash },
      failure: done.failure ?? (await compactedSince(log, conversationId, aligned.state.revision)).failure,
    })
  }

  return async function compress<Message extends MessageInput>(
    given: readonly Message[],
    conversationId: string,
    options?: AskedBy,
  ): Promise<Compressed<Message>> {
    let tokensEstimateBefore = 0

    function unused(problem: unknown): Compressed<Message> {
      onProblem(problem)
      return {
        history: givenBack(given),
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
      const history = copied(given)
      if (E.isLeft(history)) return unused(deps.errorOf(history.left))
      const parsed = parseList(history.right)
      if (E.isLeft(parsed)) return unused(deps.errorOf(parsed.left))
      tokensEstimateBefore = parsed.right.reduce((sum, message) => sum + messageTokens(message, defaultEstimator), 0)
      const compressed = await recordAndCompact(given, history.right, parsed.right, conversationId, provenance)
      if (E.isLeft(compressed)) return unused(deps.errorOf(compressed.left))
      const { failure, ...done } = compressed.right
      return { ...done, tokensEstimateBefore, ...(failure === undefined ? {} : { error: describe(failure) }) }
    } catch (error) {
      return unused(error)
    }
  }
}
