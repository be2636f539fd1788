/**
 * `compress(history, conversationId)`: makes what is recorded say what a host's list says, compacts where a limit asks
 * for it, and hands back the
 * context. It never throws: whatever goes wrong, the host keeps the history that it gave, and nothing half of it is
 * recorded.
 */
import { either as E } from 'fp-ts'
import { LRUCache } from 'lru-cache'
import type { Provenance } from '../domain/events/codec.js'
import { contextOf, type Context, type NoContext } from '../domain/compaction/context.js'
import type { Conversation } from '../domain/conversation/conversation.js'
import type { LiveMessage } from '../domain/conversation/live-message.js'
import type { Command, MessageToAppend } from '../domain/decide/index.js'
import { originTypes } from '../domain/events/index.js'
import { hashOf } from '../domain/values/hash.js'
import { checkId, conversationStream, messageEventId } from '../domain/values/ids.js'
import {
  messageHash,
  parseMessage,
  toChatMessage,
  type BadMessage,
  type ChatMessage,
  type MessageInput,
  type NewMessage,
} from '../domain/values/message.js'
import { shortenMessage } from '../domain/compaction/shorten.js'
import { compactedCallResult } from '../domain/conversation/placeholders.js'
import { defaultEstimator, messageTokens } from '../domain/values/tokens.js'
import { changesOf, isPlaceholder, type Changes, type ShownForms } from './align-history.js'
import type { Compaction } from './compact.js'
import { compactedSince } from './compacted-since.js'
import { originsInForce, spanOf } from '../recording/origins.js'
import { decodeEvent, isOfType } from '../recording/read-event.js'
import type { CommandFailure, Conversations, Handled } from '../recording/handle-command.js'
import { loadConversation, seeUntil, type Log } from '../recording/load-conversation.js'
import { createSaidLists, type Said, type SaidList } from './said-list.js'

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
   * What went wrong, where something did: of the same kinds as the library's failures. `history` is usable all the
   * same.
   */
  readonly error?: CompressError
}

/** What went wrong, as data. */
interface CompressError {
  readonly kind: string
  /** One sentence for people. */
  readonly message: string
  readonly [about: string]: unknown
}

/** The list has another past than what is compacted, and the batches that cover it cannot be put out of force. */
export type HistoryDiverged = {
  readonly kind: 'HistoryDiverged'
  readonly conversationId: string
  readonly messageId: string
  readonly detail: string
}

export interface CompressDependencies {
  readonly log: Log
  readonly conversations: Pick<Conversations, 'load' | 'handle'>
  /** What configures a conversation that is recorded through here. */
  readonly configure: () => Extract<Command, { type: 'Configure' }>
  readonly provenance: () => Provenance
  readonly now: () => Date
  /** Refuses where the ledger is closed. */
  readonly open: () => void
  /** Hears of what was recorded, so that what is due behind it runs. */
  readonly onRecorded: (handled: Handled) => void
  /** Runs what is due and waits for it. */
  readonly compact: (conversationId: string) => Promise<Compaction>
  /** Hears of whatever went wrong. It never throws. */
  readonly onProblem: (problem: unknown) => void
  readonly describe: (problem: unknown) => CompressError
  /** The error that a refusal is thrown as. */
  readonly raise: (failure: BadMessage | NoContext | CommandFailure | HistoryDiverged) => Error
}

type Raise = CompressDependencies['raise']

/** A host's list as it gave it. We only read it; the host goes on with it, as what it hands to its model. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const hostsOwn = <Message>(history: readonly Message[]): Message[] => history as Message[]

/** What a host gets back where its list could not be used: its list, and an empty one in the place of what is none. */
export function givenBack<Message>(history: readonly Message[]): Message[] {
  try {
    return Array.isArray(history) ? hostsOwn(history) : []
  } catch {
    return []
  }
}

/** The list as it stands now, whatever its host does to it while it is recorded; a hole of it is no message. */
function copied<Message>(history: readonly Message[], raise: Raise): Message[] {
  try {
    if (Array.isArray(history)) return Array.from(history)
  } catch {
    // A list that throws when it is looked at is none.
  }
  throw raise({ kind: 'BadMessage', field: 'history', detail: 'must be a list of messages' })
}

/** The id that a host knows a message by. */
const hostsId = (message: Pick<LiveMessage, 'messageId' | 'givenId'>): string => message.givenId ?? message.messageId

function parseAll(history: readonly unknown[], raise: Raise): NewMessage[] {
  const parsed = history.map((input, at) => {
    const message = parseMessage(input)
    if (E.isLeft(message)) throw raise({ ...message.left, field: `history[${String(at)}].${message.left.field}` })
    return message.right
  })
  const firstAt = new Map<string, number>()
  for (const [at, { messageId }] of parsed.entries()) {
    if (messageId === undefined) continue
    const id = checkId('id', messageId)
    if (E.isLeft(id)) throw raise({ kind: 'BadMessage', field: `history[${String(at)}].id`, detail: id.left.detail })
    const before = firstAt.get(messageId)
    if (before !== undefined)
      throw raise({
        kind: 'BadMessage',
        field: `history[${String(at)}].id`,
        detail: `is that of history[${String(before)}] too`,
      })
    firstAt.set(messageId, at)
  }
  return parsed
}

const contextNow = (state: Conversation, raise: Raise): Context => {
  const context = contextOf(state)
  if (E.isLeft(context)) throw raise(context.left)
  return context.right
}

const liveOf = ({ leading, retained, window }: Conversation): LiveMessage[] => [...leading, ...retained, ...window]

// --- What a host may have been given ---

/** What a context showed that is recorded otherwise, or not at all: by hashes. */
interface HandedOut {
  readonly only: readonly (readonly [string, readonly string[]])[]
  readonly forms: readonly (readonly [string, string])[]
}

function handedOutBy(context: Context, state: Conversation): HandedOut {
  const live = new Map(liveOf(state).map((message) => [message.messageId, message]))
  const leftOut = context.shortened?.flatMap(({ id, how }) => (how === 'left-out' ? [id] : [])) ?? []
  const only: (readonly [string, readonly string[]])[] = []
  const forms: (readonly [string, string])[] = []
  for (const [at, message] of context.messages.entries()) {
    const id = context.messageIds[at]
    const hash = hashOf(message)
    const recorded = id === undefined ? undefined : live.get(id)
    // The view has its own place in the list; a note stands for what is left out.
    if (id === undefined) only.push([hash, at === context.viewAt ? [] : leftOut])
    else if (recorded !== undefined && hashOf(toChatMessage(recorded)) !== hash) forms.push([id, hash])
  }
  return { only, forms }
}

const SMALLEST_CAP = 64
const LARGEST_CAP = 2 ** 20

/** A message as contexts show it where there is little room, whichever of them it was: the caps are powers of two. */
function shortForms(message: LiveMessage, state: Conversation): string[] {
  const estimator =
    state.configuration === undefined ? defaultEstimator : state.findEstimator(state.configuration.estimator)
  const bodies =
    message.role === 'tool'
      ? [message, compactedCallResult(message, state.compactedCalls, state.configuration?.rendererVersion ?? 0)]
      : [message]
  const hashes: string[] = bodies.slice(1).map((body) => hashOf(toChatMessage(body)))
  if (message.tokens <= SMALLEST_CAP) return hashes
  for (let cap = SMALLEST_CAP; cap < Math.min(LARGEST_CAP, message.tokens); cap *= 2) {
    for (const body of bodies)
      hashes.push(hashOf(toChatMessage(shortenMessage(body, cap, `message ${message.messageId}`, estimator))))
  }
  return hashes
}

function formsOf(shown: readonly HandedOut[], state: Conversation, history: readonly NewMessage[]): ShownForms {
  const only = new Map(shown.flatMap((each) => each.only))
  const forms = new Map<string, Set<string>>()
  const add = (id: string, hash: string): void => {
    forms.set(id, (forms.get(id) ?? new Set()).add(hash))
  }
  for (const [id, hash] of shown.flatMap((each) => each.forms)) add(id, hash)
  // A list of short texts shows nothing shortened, and whoever made no room has made none short.
  const given = new Set(history.map(messageHash))
  for (const message of liveOf(state))
    if (!given.has(messageHash(message))) for (const hash of shortForms(message, state)) add(message.messageId, hash)
  return { only, forms }
}

// --- The list, held against what is recorded ---

/** What a list comes to: what it changes, and what of it stood for batches. */
interface Aligned extends Pick<Changes, 'placed' | 'withdraw' | 'why' | 'append'> {
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

/** How often a list is held against what is recorded anew, where others record meanwhile. */
const ATTEMPTS = 50

const idsOf = (batches: Conversation['visibleBatches']): Set<string> => new Set(batches.map(({ batchId }) => batchId))

/** Builds `compress`. */
export function createCompress(deps: CompressDependencies) {
  const { log, conversations, raise } = deps
  const saidLists = createSaidLists(log)
  /** What this process handed out last. */
  const handedOut = new LRUCache<string, HandedOut>({ max: 1_000 })

  /** The fact that made this view: walks back over those that closed the books, by the hashes that they recorded. */
  async function makerOfView(state: Conversation, view: string): Promise<bigint | undefined> {
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

  async function align(history: readonly NewMessage[], state: Conversation): Promise<Aligned> {
    // A list of nothing hands nothing in: who takes a conversation up anew asks for its context so.
    if (history.length === 0) return { state, placed: [], withdraw: [], why: 'removed', append: [], batches: new Set() }
    const { conversationId } = state
    const context = state.configuration === undefined ? undefined : contextNow(state, raise)
    const quick = context === undefined ? undefined : await goesOn(history, state, context)
    if (quick !== undefined) return quick
    const list = await saidLists(conversationId, state.revision)
    const known = handedOut.get(conversationId)
    const shown: HandedOut[] = [
      ...(known === undefined ? [] : [known]),
      ...(context === undefined ? [] : [handedOutBy(context, state)]),
    ]
    const texts = new Set([...list.leading, ...list.rest].map((said) => said.chatHash))
    const views = new Set<number>()
    let then: Conversation | undefined
    for (const [at, message] of history.entries()) {
      if (message.role !== 'system' || typeof message.content !== 'string' || texts.has(hashOf(toChatMessage(message))))
        continue
      const viewShown = context?.viewAt === undefined ? undefined : context.messages[context.viewAt]?.content
      const maker =
        message.content === viewShown || message.content === state.view?.text
          ? state.revision
          : await makerOfView(state, message.content)
      if (maker === undefined) continue
      views.add(at)
      then ??= maker === state.revision ? state : await loadConversation(log, conversationId, maker)
    }
    if (then !== undefined && then !== state) shown.push(handedOutBy(contextNow(then, raise), then))
    const forms = formsOf(shown, state, history)
    const reading = { conversationId, list, shown: forms, views }
    const folded = compactedIn(list, state)
    const read = (hidden: ReadonlySet<string>): Aligned => ({
      state,
      ...changesOf(history, { ...reading, hidden }),
      batches: idsOf(then?.visibleBatches ?? []),
    })
    if (then !== undefined) return read(compactedIn(list, then))
    const whole = read(new Set())
    if (folded.size === 0) return whole
    // Without a view a host may keep the whole list, or have dropped what is compacted. It has dropped it where nothing
    // of it comes again.
    const rest = read(folded)
    const old = list.rest.filter(({ messageId }) => folded.has(messageId))
    const again = new Set(old.flatMap((said) => [said.messageHash, said.ownId ?? said.messageHash]))
    const doubles = rest.append.some(
      (message) => again.has(messageHash(message)) || again.has(message.givenId ?? message.messageId ?? ''),
    )
    return doubles || cost(whole) < cost(rest) ? whole : rest
  }

  const cost = ({ withdraw, append }: Aligned): number => withdraw.length + append.length

  /** Puts the cycles out of force that folded what is to be withdrawn. */
  async function unfold({ state }: Aligned, folded: readonly Said[]): Promise<Command> {
    const { conversationId } = state
    const wanted = new Set(folded.map(({ messageId }) => messageId))
    const undone: { cycle: number; revision: bigint }[] = []
    let at: bigint | undefined
    let count = 0
    for await (const event of originsInForce(log, conversationId, state.lastOrigin)) {
      if (wanted.size === 0 || isOfType(event, 'EditionAdopted')) break
      if (!isOfType(event, 'MessagesPruned')) continue
      undone.push({ cycle: event.data.cycle, revision: event.revision })
      const found = event.data.pruned.flatMap(({ messageIds }) => messageIds).filter((id) => wanted.delete(id))
      if (found.length > 0) [at, count] = [spanOf(event).from, undone.length]
    }
    const [missing] = wanted
    if (missing !== undefined || at === undefined) {
      throw raise({
        kind: 'HistoryDiverged',
        conversationId,
        messageId: missing ?? '',
        detail:
          'the list has another past than what an adopted edition has compacted: revert the edition, or give the list another conversation id',
      })
    }
    return {
      type: 'UndoCycles',
      undone: undone.slice(0, count),
      before: await seeUntil(log, await loadConversation(log, conversationId, at), state.revision),
      toWithdraw: true,
    }
  }

  /** What was recorded of a message that is said anew is said anew with it. */
  function renewed(message: MessageToAppend, withdrawn: readonly LiveMessage[]): MessageToAppend {
    const own = message.givenId ?? message.messageId
    const before =
      withdrawn.find((live) => hostsId(live) === own && messageHash(live) === messageHash(message)) ??
      withdrawn.find((live) => messageHash(live) === messageHash(message))
    if (before === undefined) return message
    const { createdAt, attributes, extra, answers, pinned } = before
    return {
      ...message,
      createdAt: message.createdAt ?? createdAt,
      ...(pinned || message.pinned === true ? { pinned: true } : {}),
      ...(message.attributes === undefined && attributes !== undefined ? { attributes } : {}),
      ...(message.extra === undefined && extra !== undefined ? { extra } : {}),
      ...(message.answers === undefined && answers !== undefined ? { answers } : {}),
    }
  }

  /** The commands that make what is recorded say what the list says. */
  async function commandsFor(aligned: Aligned): Promise<Command[]> {
    const { state, withdraw, why, append } = aligned
    const live = new Map(liveOf(state).map((message) => [message.messageId, message]))
    const folded = withdraw.filter(({ messageId }) => !live.has(messageId))
    const gone = withdraw.flatMap(({ messageId }) => live.get(messageId) ?? [])
    const messages = append.map((message) => renewed(message, gone))
    return [
      { type: 'Expect', revision: state.revision },
      ...(folded.length === 0 ? [] : [await unfold(aligned, folded)]),
      deps.configure(),
      ...(withdraw.length === 0
        ? []
        : [{ type: 'WithdrawMessages' as const, messageIds: withdraw.map(({ messageId }) => messageId), why }]),
      { type: 'AppendMessages', messages, now: deps.now().toISOString() },
    ]
  }

  /** Records what the list changes, on what is there now. */
  async function record(
    history: readonly NewMessage[],
    conversationId: string,
  ): Promise<{ readonly aligned: Aligned; readonly recorded: readonly string[] }> {
    for (let tries = 1; ; tries += 1) {
      const aligned = await align(history, await conversations.load(conversationId))
      const handled = await conversations.handle(conversationId, await commandsFor(aligned), deps.provenance())
      if (E.isRight(handled)) {
        deps.onRecorded(handled.right)
        return {
          aligned,
          recorded: handled.right.events.flatMap((event) =>
            event.type === 'MessageAppended' ? [event.data.messageId] : [],
          ),
        }
      }
      if (handled.left.kind !== 'ConversationMoved' || tries === ATTEMPTS) throw raise(handled.left)
    }
  }

  return async function compress<Message extends MessageInput>(
    given: readonly Message[],
    conversationId: string,
  ): Promise<Compressed<Message>> {
    let before = 0
    try {
      deps.open()
      const id = checkId('conversationId', conversationId)
      if (E.isLeft(id)) throw raise(id.left)
      const history = copied(given, raise)
      const parsed = parseAll(history, raise)
      before = parsed.reduce((sum, message) => sum + messageTokens(message, defaultEstimator), 0)
      const { aligned, recorded } = await record(parsed, conversationId)
      const done = await deps.compact(conversationId)
      const failure = done.failure ?? (await compactedSince(log, conversationId, aligned.state.revision)).failure
      if (done.failure !== undefined) deps.onProblem(done.failure)
      const state = await conversations.load(conversationId)
      const context = contextNow(state, raise)
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
      return {
        history: unchanged ? hostsOwn(given) : asHostsOwn(history, placed, context, live),
        batchesCreated: state.visibleBatches.filter(({ batchId }) => !aligned.batches.has(batchId)).length,
        messagesCompressed: placed.filter(({ messageId }) => messageId !== undefined && !live.has(messageId)).length,
        tokensEstimateBefore: before,
        tokensEstimateAfter: context.tokens,
        ...(failure === undefined ? {} : { error: deps.describe(failure) }),
      }
    } catch (problem) {
      deps.onProblem(problem)
      return {
        history: givenBack(given),
        batchesCreated: 0,
        messagesCompressed: 0,
        tokensEstimateBefore: before,
        tokensEstimateAfter: before,
        error: deps.describe(problem),
      }
    }
  }
}

function nextOf(ids: Iterator<string>): string | undefined {
  const next = ids.next()
  return next.done === true ? undefined : next.value
}

/** The context as the host's own objects, where it gave them. */
function asHostsOwn<Message extends MessageInput>(
  history: readonly Message[],
  placed: Changes['placed'],
  context: Context,
  live: ReadonlyMap<string, LiveMessage>,
): (Message | ChatMessage)[] {
  const own = new Map<string, Message>()
  for (const [at, message] of history.entries()) {
    const place = placed[at]
    if (place?.messageId !== undefined && place.exact && !own.has(place.messageId)) own.set(place.messageId, message)
  }
  const usesIds = history.some((message) => message.id !== undefined)
  const shortened = new Set(context.shortened?.map(({ id }) => id))
  return context.messages.map((message, at) => {
    const id = context.messageIds[at]
    if (id === undefined) return message
    const given = own.get(id)
    const recorded = live.get(id)
    return given !== undefined && !shortened.has(id) && given.role === message.role
      ? given
      : usesIds
        ? { id: recorded === undefined ? id : hostsId(recorded), ...message }
        : message
  })
}
