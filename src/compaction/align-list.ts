/** A host's list, held against what is recorded: what it changes, and what of it stood for batches. */
import { either as E } from 'fp-ts'
import { contextOf, type Context, type NoContext } from '../domain/compaction/context.js'
import type { Conversation } from '../domain/conversation/conversation.js'
import { originTypes } from '../domain/events/index.js'
import { hashOf } from '../domain/values/hash.js'
import { conversationStream, messageEventId } from '../domain/values/ids.js'
import { messageHash, toChatMessage, type NewMessage } from '../domain/values/message.js'
import { loadConversation, type Log } from '../recording/load-conversation.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import { changesOf, isPlaceholder, type Changes } from './align-history.js'
import { formsOf, handedOutBy, liveOf, type HandedOut } from './handed-out.js'
import { hostsId } from './host-list.js'
import { createSaidLists, type SaidList } from './said-list.js'

/** What a list comes to: what it changes, and what of it stood for batches. */
export interface Aligned extends Pick<Changes, 'placed' | 'withdraw' | 'why' | 'append'> {
  readonly state: Conversation
  /** Batches that the list showed. */
  readonly batches: ReadonlySet<string>
}

/** Messages that are said, and that batches cover. */
const compactedIn = (list: SaidList, state: Conversation): Set<string> => {
  const live = new Set(liveOf(state).map(({ messageId }) => messageId))
  return new Set(
    [...list.leading, ...list.rest].flatMap(({ messageId, revision }) =>
      revision <= state.revision && !live.has(messageId) ? [messageId] : [],
    ),
  )
}

const idsOf = (batches: Conversation['visibleBatches']): Set<string> => new Set(batches.map(({ batchId }) => batchId))

/** The fact that made this view: walks back over those that closed the books, by the hashes that they recorded. */
async function makerOfView(log: Log, state: Conversation, view: string): Promise<bigint | undefined> {
  const wanted = hashOf(view)
  let at = state.lastOrigin
  while (at !== undefined) {
    const [stored] = await log.store.readRevisions(conversationStream(state.conversationId), [at])
    const event = stored === undefined ? undefined : await decodeEvent(stored, log.bodies)
    if (event === undefined || !isOfType(event, ...originTypes)) return undefined
    if (event.data.viewHash === wanted) return at
    at = event.data.previous
  }
  return undefined
}

/**
 * A list that goes on from what is shown, or begins with it: nothing but the context is needed, however long the
 * conversation.
 */
async function goesOn(
  log: Log,
  history: readonly NewMessage[],
  state: Conversation,
  context: Context,
): Promise<Aligned | undefined> {
  if (context.messages.length > history.length) return undefined
  const live = new Map(liveOf(state).map((message) => [message.messageId, message]))
  for (const [at, shown] of context.messages.entries()) {
    const message = history[at]
    const recorded = live.get(context.messageIds[at] ?? '')
    if (message === undefined) return undefined
    if (message.messageId !== undefined && (recorded === undefined || message.messageId !== hostsId(recorded)))
      return undefined
    const isSame =
      hashOf(toChatMessage(message)) === hashOf(shown) ||
      (recorded !== undefined && messageHash(message) === messageHash(recorded))
    if (!isSame) return undefined
  }
  const append = history.slice(context.messages.length)
  // What may only be shown is looked at one by one.
  if (append.some((message) => isPlaceholder(message) || message.role === 'system')) return undefined
  const leadsNext =
    append[0] !== undefined &&
    context.messages.length === state.leading.length &&
    ['system', 'developer'].includes(append[0].role)
  if (leadsNext && state.messagesAppended !== state.leading.length) return undefined
  const stream = conversationStream(state.conversationId)
  const ids = append.flatMap(({ messageId }) => (messageId === undefined ? [] : [messageEventId(stream, messageId)]))
  if (state.messagesAppended > 0 && ids.length > 0 && (await log.store.findByIds(stream, ids)).length > 0)
    return undefined
  const placed = history.map((message, at) => {
    const isNew = at >= context.messages.length
    const recorded = live.get(context.messageIds[at] ?? '')
    return {
      messageId: isNew ? message.messageId : context.messageIds[at],
      isNew,
      exact: isNew || (recorded !== undefined && messageHash(message) === messageHash(recorded)),
    }
  })
  return { state, placed, withdraw: [], why: 'edited', append, batches: idsOf(state.visibleBatches) }
}

/** Places of the list that hold a view, and the conversation as it was when the first of these views was made. */
async function viewsIn(
  log: Log,
  history: readonly NewMessage[],
  list: SaidList,
  state: Conversation,
  context: Context | undefined,
): Promise<{ readonly views: ReadonlySet<number>; readonly earlier: Conversation | undefined }> {
  const texts = new Set([...list.leading, ...list.rest].map((said) => said.chatHash))
  const views = new Set<number>()
  let earlier: Conversation | undefined
  for (const [at, message] of history.entries()) {
    if (message.role !== 'system' || typeof message.content !== 'string' || texts.has(hashOf(toChatMessage(message))))
      continue
    const viewShown = context?.viewAt === undefined ? undefined : context.messages[context.viewAt]?.content
    const maker =
      message.content === viewShown || message.content === state.view?.text
        ? state.revision
        : await makerOfView(log, state, message.content)
    if (maker === undefined) continue
    views.add(at)
    earlier ??= maker === state.revision ? state : await loadConversation(log, state.conversationId, maker)
  }
  return { views, earlier }
}

const cost = ({ withdraw, append }: Aligned): number => withdraw.length + append.length

/**
 * Holds a list against what is recorded.
 * @param known what this process handed out last
 */
export type AlignList = (
  history: readonly NewMessage[],
  state: Conversation,
  known: HandedOut | undefined,
) => Promise<E.Either<NoContext, Aligned>>

export function createAlignList(log: Log): AlignList {
  const saidLists = createSaidLists(log)

  async function align(
    history: readonly NewMessage[],
    state: Conversation,
    known: HandedOut | undefined,
  ): Promise<E.Either<NoContext, Aligned>> {
    // A list of nothing hands nothing in: who takes a conversation up anew asks for its context so.
    if (history.length === 0)
      return E.right({ state, placed: [], withdraw: [], why: 'removed', append: [], batches: new Set() })
    const { conversationId } = state
    const now = state.configuration === undefined ? undefined : contextOf(state)
    if (now !== undefined && E.isLeft(now)) return now
    const context = now?.right
    const quick = context === undefined ? undefined : await goesOn(log, history, state, context)
    if (quick !== undefined) return E.right(quick)
    const list = await saidLists(conversationId, state.revision)
    const shown: HandedOut[] = [
      ...(known === undefined ? [] : [known]),
      ...(context === undefined ? [] : [handedOutBy(context, state)]),
    ]
    const { views, earlier } = await viewsIn(log, history, list, state, context)
    if (earlier !== undefined && earlier !== state) {
      const contextThen = contextOf(earlier)
      if (E.isLeft(contextThen)) return contextThen
      shown.push(handedOutBy(contextThen.right, earlier))
    }
    const forms = formsOf(shown, state, history)
    const reading = { conversationId, list, shown: forms, views }
    const compacted = compactedIn(list, state)
    const read = (hidden: ReadonlySet<string>): Aligned => ({
      state,
      ...changesOf(history, { ...reading, hidden }),
      batches: idsOf(earlier?.visibleBatches ?? []),
    })
    if (earlier !== undefined) return E.right(read(compactedIn(list, earlier)))
    const whole = read(new Set())
    if (compacted.size === 0) return E.right(whole)
    // Without a view a host may keep the whole list, or have dropped what is compacted. It has dropped it where nothing
    // of it comes again.
    const rest = read(compacted)
    const old = list.rest.filter(({ messageId }) => compacted.has(messageId))
    const again = new Set(old.flatMap((said) => [said.messageHash, said.ownId ?? said.messageHash]))
    const doubles = rest.append.some(
      (message) => again.has(messageHash(message)) || again.has(message.givenId ?? message.messageId ?? ''),
    )
    return E.right(doubles || cost(whole) < cost(rest) ? whole : rest)
  }

  return align
}
