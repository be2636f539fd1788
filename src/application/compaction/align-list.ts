/** Compares a host's list with the recorded messages. */
import { either as E } from 'fp-ts'
import { contextOf, type Context, type NoContext } from '../../domain/compaction/context.js'
import type { Conversation } from '../../domain/conversation/conversation.js'
import { hashOf } from '../../domain/values/hash.js'
import { conversationStream, messageEventId } from '../../domain/values/ids.js'
import { isInstruction, messageHash, toChatMessage, type NewMessage } from '../../domain/values/message.js'
import { listFingerprintOf } from '../recording/erased-messages.js'
import type { Log } from '../recording/load-conversation.js'
import { changesOf, isPlaceholder, type Changes, type ShownForms } from './align-history.js'
import { formsOf, shownContextOf, liveOf, type ShownContext } from './handed-out.js'
import { hostIdOf } from './host-list.js'
import type { Redactor } from '../secrets/redact.js'
import { createSourceLists, type SourceList } from './source-list.js'
import { systemMessagesApart } from './system-in-list.js'

/** The changes of a list, and the batches that it shows. */
export interface Aligned extends Pick<Changes, 'placed' | 'withdraw' | 'why' | 'append'> {
  readonly state: Conversation
  readonly batches: ReadonlySet<string>
}

/** Recorded messages that batches cover. */
const compactedIn = (list: SourceList, state: Conversation): Set<string> => {
  const live = new Set(liveOf(state).map(({ messageId }) => messageId))
  return new Set(
    [...list.leading, ...list.rest].flatMap(({ messageId, revision }) =>
      revision <= state.revision && !live.has(messageId) ? [messageId] : [],
    ),
  )
}

const idsOf = (batches: Conversation['visibleBatches']): Set<string> => new Set(batches.map(({ batchId }) => batchId))

/** The fast path: a list that begins with the current context needs no other data, however long the conversation is. */
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
    if (message.messageId !== undefined && (recorded === undefined || message.messageId !== hostIdOf(recorded)))
      return undefined
    const isSame =
      hashOf(toChatMessage(message)) === hashOf(shown) ||
      (recorded !== undefined && messageHash(message) === messageHash(recorded))
    if (!isSame) return undefined
  }
  const append = history.slice(context.messages.length)
  // Messages that may be only shown need the full comparison.
  if (append.some((message) => isPlaceholder(message) || message.role === 'system')) return undefined
  const leadsNext = append[0] !== undefined && isInstruction(append[0]) && live.size === state.leading.length
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

/**
 * By message id: the forms in which the list may have a message. The list of a host still has the texts that were
 * erased from the ledger. They are recognized by keyed fingerprints, so that they are not recorded again as edits.
 */
async function withErasedForms(
  { keys }: Log,
  conversationId: string,
  history: readonly NewMessage[],
  list: SourceList,
  forms: ShownForms['forms'],
): Promise<ShownForms['forms']> {
  const erased = [...list.leading, ...list.rest].filter(({ isErased }) => isErased)
  if (keys === undefined || erased.length === 0) return forms
  const hashes = new Map(
    history.map((message) => [listFingerprintOf(keys, conversationId, message), hashOf(toChatMessage(message))]),
  )
  const found = [...(await keys.findFingerprints([...hashes.keys()]))].flatMap((each) => hashes.get(each) ?? [])
  if (found.length === 0) return forms
  return new Map([
    ...forms,
    ...erased.map(({ messageId }) => [messageId, new Set([...(forms.get(messageId) ?? []), ...found])] as const),
  ])
}

const changeCount = ({ withdraw, append }: Aligned): number => withdraw.length + append.length

/**
 * Compares a list with the recorded messages.
 * @param known the context that this process returned last
 * @param redactor redacted the list
 */
export type AlignList = (
  history: readonly NewMessage[],
  state: Conversation,
  known: ShownContext | undefined,
  redactor: Redactor | undefined,
) => Promise<E.Either<NoContext, Aligned>>

export function createAlignList(log: Log): AlignList {
  const sourceLists = createSourceLists(log)

  async function align(
    hostList: readonly NewMessage[],
    state: Conversation,
    known: ShownContext | undefined,
    redactor: Redactor | undefined,
  ): Promise<E.Either<NoContext, Aligned>> {
    // An empty list changes nothing: a host uses it to get the context of a conversation that it resumes.
    if (hostList.length === 0)
      return E.right({ state, placed: [], withdraw: [], why: 'removed', append: [], batches: new Set() })
    const { conversationId } = state
    const now = state.configuration === undefined ? undefined : contextOf(state)
    if (now !== undefined && E.isLeft(now)) return now
    const context = now?.right
    const quick = context === undefined ? undefined : await goesOn(log, hostList, state, context)
    if (quick !== undefined) return E.right(quick)
    const list = await sourceLists(conversationId, state.revision, redactor)
    const shownContexts: ShownContext[] = [
      ...(known === undefined ? [] : [known]),
      ...(context === undefined ? [] : [shownContextOf(context, state)]),
    ]
    const { history, places, views, earlier } = await systemMessagesApart(log, hostList, list, state, shownContexts)
    if (earlier !== undefined && earlier !== state) {
      const contextThen = contextOf(earlier)
      if (E.isLeft(contextThen)) return contextThen
      shownContexts.push(shownContextOf(contextThen.right, earlier))
    }
    const forms = formsOf(shownContexts, state, history)
    const shownForms = { ...forms, forms: await withErasedForms(log, conversationId, history, list, forms.forms) }
    const reading = { conversationId, list, shownForms, views }
    const compacted = compactedIn(list, state)
    const read = (hidden: ReadonlySet<string>): Aligned => {
      const changes = changesOf(history, { ...reading, hidden })
      return {
        state,
        ...changes,
        // A message that was split is not returned as the host's object.
        placed: hostList.map((message, at) => {
          const index = places[at] ?? -1
          const { messageId, isNew = false, exact = false } = changes.placed[index] ?? {}
          return { messageId, isNew, exact: exact && history[index] === message }
        }),
        batches: idsOf(earlier?.visibleBatches ?? []),
      }
    }
    if (earlier !== undefined) return E.right(read(compactedIn(list, earlier)))
    const whole = read(new Set())
    if (compacted.size === 0) return E.right(whole)
    // Without a view the host may have kept the whole list, or dropped the compacted messages. It has dropped them if
    // none of them is in the list.
    const rest = read(compacted)
    const old = list.rest.filter(({ messageId }) => compacted.has(messageId))
    const droppedKeys = new Set(old.flatMap((source) => [source.messageHash, source.hostId ?? source.messageHash]))
    const doubles = rest.append.some(
      (message) => droppedKeys.has(messageHash(message)) || droppedKeys.has(message.givenId ?? message.messageId ?? ''),
    )
    return E.right(doubles || changeCount(whole) < changeCount(rest) ? whole : rest)
  }

  return align
}
