/**
 * Compares the message list of a request with the tracked conversation. The request continues the conversation, repeats
 * or rewinds it, restarts it after a compaction by the client's program, or is a side request.
 */
import { contentText, type ProxyRequest, type SourceMessage } from '../../application/model-apis/api.js'
import { textWithin } from '../../lib/text-in.js'
import {
  answeredLength,
  hashTools,
  MIN_DISTINCTIVE_CHARACTERS,
  type Entry,
  type TrackedConversation,
} from './tracked-conversation.js'

/** A list that a program restarted after its own compaction. */
export interface Restart {
  readonly kind: 'restarts'
  /** Messages that are already recorded: index in the list → index in the tracked conversation. */
  readonly matchedEntries: ReadonlyMap<number, number>
  readonly summaryIndex: number | undefined
  /** The id of the recorded answer that the summary repeats. */
  readonly answerId?: string | undefined
}

/** How a request relates to a conversation. */
export type RequestMatch =
  /** The list continues what is recorded. `edits` are the indexes of results whose content changed. */
  | { readonly kind: 'continues'; readonly from: number; readonly edits: readonly number[] }
  /** The same list was sent before, and more is recorded than it contains. */
  | { readonly kind: 'repeats' }
  /** The recorded messages from `from` on are not in the list. */
  | { readonly kind: 'rewinds'; readonly from: number }
  | Restart
  /** A title, a count, or another request that is not a turn of the conversation. */
  | { readonly kind: 'side-request' }

/** The distinctive part of an answer: a program may remove the tags and put words of its own before the summary. */
function distinctiveText(text: string): string {
  const inner = ['summary', 'state_snapshot'].map((tag) => textWithin(text, `<${tag}>`, `</${tag}>`))
  return (inner.find((each) => each !== undefined) ?? text).trim()
}

/** The recent answers that are long enough to be recognized in another text. */
const distinctiveAnswers = ({ answerTexts }: TrackedConversation): TrackedConversation['answerTexts'] =>
  answerTexts
    .map((answer) => ({ ...answer, text: distinctiveText(answer.text) }))
    .filter(({ text }) => text.length >= MIN_DISTINCTIVE_CHARACTERS)

/**
 * Finds the message that contains a recent answer and is not that answer, or a new message in a form that only the
 * provider reads.
 * @param from the list is unchanged before this index: a summary there is an earlier one
 */
function findSummary(
  conversation: TrackedConversation,
  messages: readonly SourceMessage[],
  matched: ReadonlyMap<number, number>,
  from: number,
): { readonly summaryIndex: number; readonly answerId?: string | undefined } | undefined {
  const answers = distinctiveAnswers(conversation)
  for (const [index, { input, isCompaction, hash }] of messages.entries()) {
    if (index < from || matched.has(index) || input.role === 'tool') continue
    if (isCompaction === true && !conversation.entries.some((entry) => entry.hash === hash))
      return { summaryIndex: index }
    const content = contentText(input.content)
    if (content.length < MIN_DISTINCTIVE_CHARACTERS) continue
    const answer = answers.find(({ text }) => content.includes(text))
    if (answer !== undefined) return { summaryIndex: index, answerId: answer.id }
  }
  return undefined
}

/** Recorded messages in the list, in the order of the conversation: index in the list → index in the conversation. */
function matchEntries(
  conversation: TrackedConversation,
  messages: readonly SourceMessage[],
  from: number,
): Map<number, number> {
  const matched = new Map<number, number>()
  const indexesByHash = new Map<string, number[]>()
  for (const [index, { hash, id }] of conversation.entries.entries()) {
    if (id === undefined) continue
    const indexes = indexesByHash.get(hash)
    if (indexes === undefined) indexesByHash.set(hash, [index])
    else indexes.push(index)
  }
  let last = -1
  for (const [index, { hash }] of messages.entries()) {
    if (index < from) {
      if (conversation.entries[index]?.id !== undefined) matched.set(index, index)
      last = index
      continue
    }
    const match = indexesByHash.get(hash)?.find((each) => each > last)
    if (match === undefined) continue
    matched.set(index, match)
    last = match
  }
  return matched
}

/**
 * Moves each match to the last equal entry. A program keeps the end of its list, so a message that occurs twice is the
 * later one.
 */
function preferLaterEntries(
  { entries }: TrackedConversation,
  matched: ReadonlyMap<number, number>,
  from: number,
): Map<number, number> {
  const moved = new Map(matched)
  let end = entries.length
  for (const [index, first] of [...matched].toReversed()) {
    if (index < from) break
    let match = end - 1
    while (match > first && (entries[match]?.id === undefined || entries[match]?.hash !== entries[first]?.hash))
      match -= 1
    moved.set(index, match)
    end = match
  }
  return moved
}

/** The number of messages at the start that are equal in the list and in the conversation. */
export function commonPrefixLength(
  { entries }: Pick<TrackedConversation, 'entries'>,
  messages: readonly SourceMessage[],
): number {
  let length = 0
  while (length < messages.length && length < entries.length && entries[length]?.hash === messages[length]?.hash)
    length += 1
  return length
}

/** The indexes of results whose content differs from the recorded one; undefined if anything else differs. */
function editedResults(
  { entries }: TrackedConversation,
  messages: readonly SourceMessage[],
  from: number,
): number[] | undefined {
  if (messages.length < entries.length) return undefined
  const edits: number[] = []
  for (let index = from; index < entries.length; index += 1) {
    const entry = entries[index]
    const message = messages[index]
    if (entry === undefined || message === undefined) return undefined
    if (entry.hash === message.hash) continue
    const isResult = entry.role === 'tool' && entry.callId === message.input.tool_call_id && entry.id !== undefined
    if (!isResult) return undefined
    edits.push(index)
  }
  return edits
}

const requestsSummaryTag = (messages: readonly SourceMessage[]): boolean =>
  messages.some(({ input }) => contentText(input.content).includes('<summary>'))

const isFromUser = ({ role }: { readonly role: string }): boolean => role !== 'assistant' && role !== 'tool'

/**
 * The index from which a list omits the end of the conversation although it continues it. Claude Code requests a summary
 * like this: it omits the last answer, which may be final or have running tool calls, and keeps it for later lists. If no
 * tool result precedes that answer, Claude Code joins the user's last message with its question, so that the list omits
 * this message as well.
 */
export function omittedTailIndex(
  conversation: TrackedConversation,
  messages: readonly SourceMessage[],
): number | undefined {
  const prefix = commonPrefixLength(conversation, messages)
  const [omitted, question] = [conversation.entries.slice(prefix), messages.slice(prefix)]
  const answer = omitted.pop()
  const followsAnswer =
    omitted.length > 0
      ? omitted.every(isFromUser)
      : prefix > 0 && conversation.entries[prefix - 1]?.role !== 'assistant'
  if (answer?.id === undefined || answer.role !== 'assistant' || !followsAnswer) return undefined
  if (question[0]?.input.role !== 'user' || !question.every(({ input }) => isFromUser(input))) return undefined
  const isFinal = omitted.length === 0 && answer.id === conversation.finalAnswerId
  return isFinal || requestsSummaryTag(question) ? prefix : undefined
}

/** Whether a text is only a summary. Programs request it in tags, some with a draft before it. */
export const isTaggedSummary = (content: unknown): boolean =>
  /^\s*(?:<analysis>[\s\S]*<\/analysis>\s*)?<summary>[\s\S]*<\/summary>\s*$/u.test(contentText(content))

/** The index after the last message of a restarted list that is recorded or is the summary. */
export const restartEnd = (summaryIndex: number | undefined, matchedEntries: ReadonlyMap<number, unknown>): number =>
  Math.max(summaryIndex ?? -1, ...matchedEntries.keys()) + 1

/**
 * The index of the question if a request may ask for a summary. Such a list ends with messages of the user, and omits the
 * last answer or asks for a summary tag. Only the answer shows whether the request asked for a summary.
 * @param sent the list as the program sent it
 * @param completed the same list with the end of the conversation that it omitted
 */
export function summaryQuestionIndex(
  conversation: TrackedConversation,
  sent: ProxyRequest,
  completed: ProxyRequest,
  match: RequestMatch,
): number | undefined {
  if (match.kind !== 'continues' && match.kind !== 'restarts') return undefined
  const from = match.kind === 'continues' ? match.from : restartEnd(match.summaryIndex, match.matchedEntries)
  const added = completed.messages.slice(from)
  const lastAnswer = added.findLastIndex(({ input: { role } }) => role === 'tool' || role === 'assistant')
  const question = added.slice(lastAnswer + 1)
  const isMarked = omittedTailIndex(conversation, sent.messages) !== undefined || requestsSummaryTag(question)
  return question.length > 0 && isMarked ? from + lastAnswer + 1 : undefined
}

/** Compares the list of a request with the conversation. */
export function matchRequest(
  conversation: TrackedConversation,
  { messages, tools }: ProxyRequest,
  isCodingAgent: boolean,
): RequestMatch {
  const { entries } = conversation
  const offeredTools = hashTools(tools)
  if (entries.length === 0 && conversation.instructions.length === 0)
    // A coding agent offers tools in every turn. Without tools it requests a title or the like.
    return isCodingAgent && offeredTools === '' ? { kind: 'side-request' } : { kind: 'continues', from: 0, edits: [] }
  const from = commonPrefixLength(conversation, messages)
  if (from === entries.length) return { kind: 'continues', from, edits: [] }
  // A request for a title has only the first message and no tools: it does not repeat the start of the conversation.
  if (offeredTools === '' && conversation.toolsHash !== '') return { kind: 'side-request' }
  if (from === messages.length) return { kind: 'repeats' }
  const edits = editedResults(conversation, messages, from)
  if (edits !== undefined) return { kind: 'continues', from: entries.length, edits }
  const answered = answeredLength(conversation)
  // Only messages without an answer are left out, so nothing was compacted.
  if (answered > 0 && from >= answered && !messages.slice(from).some(({ isCompaction }) => isCompaction))
    return { kind: 'rewinds', from }
  const matched = matchEntries(conversation, messages, from)
  const hasGap = [...matched].some(([index, match]) => index >= from && match !== index)
  const summary = findSummary(conversation, messages, matched, from)
  const restart = { kind: 'restarts', matchedEntries: preferLaterEntries(conversation, matched, from) } as const
  if (summary !== undefined) return { ...restart, ...summary }
  if (hasGap && messages.length < entries.length)
    return { ...restart, summaryIndex: firstNewUserMessage(messages, matched) }
  // If no request offers tools, tools cannot identify side requests: the list is an edited list of the conversation.
  const isToolless = !isCodingAgent && offeredTools === '' && conversation.toolsHash === ''
  if (from > 0 || isToolless) return { kind: 'rewinds', from }
  // A side request offers other tools and contains no earlier answer.
  const isSameAgent =
    offeredTools === conversation.toolsHash ||
    (isCodingAgent && conversation.toolsHash === '') ||
    hasRecordedAnswer(conversation, matched)
  return offeredTools !== '' && isSameAgent
    ? { ...restart, summaryIndex: firstNewUserMessage(messages, matched) }
    : { kind: 'side-request' }
}

const hasRecordedAnswer = ({ entries }: TrackedConversation, matched: ReadonlyMap<number, number>): boolean =>
  [...matched.values()].some((index) => entries[index]?.role === 'assistant')

/** The first new message of a user, where programs put their summary. The last message is the question instead. */
function firstNewUserMessage(
  messages: readonly SourceMessage[],
  matched: ReadonlyMap<number, number>,
): number | undefined {
  const found = messages.findIndex((message, index) => !matched.has(index) && message.input.role === 'user')
  return found === -1 || (found === messages.length - 1 && messages.length > 1) ? undefined : found
}

/** Fewest characters of kept messages that prove a restart without a summary. Shorter ones are equal by chance. */
const MIN_KEPT_CHARACTERS = 60
/** Fewest kept messages that prove a restart without a summary. */
const MIN_KEPT = 3

/** The number of messages from `start` on that are the last ones of the conversation, without a gap. */
function keptLength(entries: readonly Entry[], messages: readonly SourceMessage[], start: number): number {
  const isKept = (length: number): boolean =>
    entries.slice(-length).every(({ hash }, index) => hash === messages[start + index]?.hash)
  for (let length = Math.min(entries.length, messages.length - start - 1); length > 0; length -= 1)
    if (isKept(length)) return length
  return 0
}

/** The kept messages, and the recorded results after them: a program may write their calls into a message of its own. */
function withResults(
  { entries }: TrackedConversation,
  messages: readonly SourceMessage[],
  kept: ReadonlyMap<number, number>,
): Map<number, number> {
  const matched = new Map(kept)
  let last = Math.max(-1, ...kept.values())
  for (const [index, { hash, input }] of messages.entries()) {
    if (input.role !== 'tool' || matched.has(index)) continue
    const match = entries.findIndex((entry, at) => at > last && entry.id !== undefined && entry.hash === hash)
    if (match === -1) continue
    matched.set(index, match)
    last = match
  }
  return matched
}

/**
 * How a list that no header identifies restarts a conversation; undefined if it does not prove it. It has the same
 * instructions and tools, and begins with a summary that the conversation contains, or with at most one message that is
 * new. After it are the last messages of the conversation without a gap, and then new ones. One equal answer proves
 * nothing: models often give the same.
 */
export function provenRestart(
  conversation: TrackedConversation,
  { instructions, messages, tools }: ProxyRequest,
): Restart | undefined {
  const hasSameInstructions =
    conversation.instructions.length === instructions.length &&
    instructions.every(({ hash }, index) => conversation.instructions[index]?.hash === hash)
  if (!hasSameInstructions || hashTools(tools) !== conversation.toolsHash) return undefined
  // A list that continues the whole conversation restarts nothing.
  if (commonPrefixLength(conversation, messages) === conversation.entries.length) return undefined
  const [first] = messages
  // A list that begins with a known summary was restarted earlier.
  const isNew = first !== undefined && !conversation.entries.some(({ hash }) => hash === first.hash)
  const summary = isNew ? requestedSummaryIn(conversation, first) : undefined
  const isCompacted = isNew && conversation.providerCompactions.has(first.hash)
  // The question for the summary and its answer are not kept.
  const isLast = summary?.id !== undefined && summary.id === conversation.entries.at(-1)?.id
  const last = isLast ? conversation.entries.length - 2 : conversation.entries.length
  // A question without an answer may be left out.
  const ends = [last, Math.min(last, answeredLength(conversation))]
  const starts = summary === undefined && !isCompacted ? [0, 1] : [1]
  const tails = ends.flatMap((end) => starts.map((start) => ({ end, start })))
  for (const { end, start } of tails) {
    const entries = conversation.entries.slice(0, end)
    const length = keptLength(entries, messages, start)
    const tail = entries.slice(entries.length - length)
    const characters = tail.reduce((sum, each) => sum + each.characters, 0)
    const isProven = isCompacted || summary !== undefined || (length >= MIN_KEPT && characters >= MIN_KEPT_CHARACTERS)
    // After its summary, a program may let the model go on without a new message.
    const hasNext = messages.length > start || summary !== undefined
    if (!isProven || length === entries.length || !hasNext) continue
    const retained = new Map(tail.map((_entry, index) => [start + index, entries.length - length + index]))
    return {
      kind: 'restarts',
      matchedEntries: withResults(conversation, messages, retained),
      summaryIndex: start === 0 ? undefined : 0,
      answerId: summary?.id,
    }
  }
  return undefined
}

/**
 * Whether a list continues a conversation up to its last answer although its instructions differ: many programs write a
 * date or a list of files into them. Short conversations may be equal by chance.
 */
export function isProvenContinuation(conversation: TrackedConversation, { messages, tools }: ProxyRequest): boolean {
  const entries = conversation.entries.slice(0, answeredLength(conversation))
  return (
    isDistinctive(entries) &&
    messages.length > entries.length &&
    hashTools(tools) === conversation.toolsHash &&
    entries.every(({ hash }, index) => hash === messages[index]?.hash)
  )
}

/** Whether messages are long enough that two conversations do not have them by chance. */
export const isDistinctive = (entries: readonly Entry[], fewest = MIN_KEPT): boolean =>
  // A list that begins with an answer was restarted with a summary.
  (entries.length >= fewest || entries[0]?.role === 'assistant') &&
  entries.reduce((sum, { characters }) => sum + characters, 0) >= MIN_KEPT_CHARACTERS

/** The answer to a question for a summary of the conversation that a message contains. */
function requestedSummaryIn(
  conversation: TrackedConversation,
  message: SourceMessage,
): TrackedConversation['answerTexts'][number] | undefined {
  const { role, content } = message.input
  if (role === 'tool') return undefined
  const text = contentText(content)
  return distinctiveAnswers(conversation).findLast(
    // Some programs write the summary as an answer. An answer of a turn is not a summary.
    (answer) => answer.isSummary && (role !== 'assistant' || answer.id === undefined) && text.includes(answer.text),
  )
}

/** The recorded entries that a restarted list keeps: index in the list → id of the recorded message. */
export const matchedIds = ({ entries }: { readonly entries: readonly Entry[] }, match: Restart): Map<number, string> =>
  new Map(
    [...match.matchedEntries].flatMap(([index, entryIndex]) => {
      const id = entries[entryIndex]?.id
      return id === undefined ? [] : [[index, id] as const]
    }),
  )
