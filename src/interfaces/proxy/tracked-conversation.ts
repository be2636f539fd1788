/**
 * A conversation as the client's message list shows it: the hash of each message and the id under which it is recorded.
 * `matchRequest` compares it with the list of the next request.
 */
import { createHash } from 'node:crypto'
import { recordable } from '../../lib/json.js'
import {
  comparedLength,
  contentText,
  messageHash,
  type ClearableMessage,
  type SourceMessage,
} from '../../application/model-apis/api.js'
import { clearablePart } from './clearable-part.js'
import { jsonText, listOf, type Fields } from '../../application/model-apis/json.js'

/** A message of the list. */
export interface Entry extends ClearableMessage {
  readonly hash: string
  /** The hash of the text without calls and ids, as a program quotes it; undefined if equal to `hash`. */
  readonly textHash?: string
  readonly role: string
  readonly callId: string | undefined
  /** Characters of the texts by which the message is identified. */
  readonly characters: number
}

/** A request and its answer on their way through the proxy. */
export interface Exchange {
  /** `answered`: the client got the whole answer, which may not be recorded yet. */
  state: 'open' | 'answered' | 'failed'
}

/** The text of an answer. */
interface AnswerText {
  readonly text: string
  /** The id of the recorded answer; undefined for the answer to a side request. */
  readonly id: string | undefined
  /** The question asked for a summary of the conversation. */
  readonly isSummary: boolean
}

/** The client's list, as far as it is recorded. */
export interface TrackedConversation {
  readonly conversationId: string
  /** The party that builds the context: the client's program or the ledger; `none` before the first message. */
  contextOwner: 'none' | 'program' | 'ledger'
  instructions: readonly Entry[]
  entries: Entry[]
  /** Hash of the tools that the last request offered; empty if it offered none. */
  toolsHash: string
  /** The last answers, including those to side requests: the summary in a later list is one of them. */
  readonly answerTexts: AnswerText[]
  /** Hashes of the compactions that the provider made in its answers, as the client's list has them. */
  readonly providerCompactions: Set<string>
  /** Id of the last answer if it is complete and calls no tool: the program may omit it from its next list. */
  finalAnswerId: string | undefined
  /** The last answer was cut off or interrupted: its question may be asked again. */
  hasIncompleteAnswer: boolean
  /** The last request that was recorded since the proxy was started. */
  exchange: Exchange | undefined
  /** Hashed into message ids. It changes with each rewind, so that a repeated message gets a new id. */
  branchSeed: string
}

export const newTrackedConversation = (conversationId: string): TrackedConversation => ({
  conversationId,
  contextOwner: 'none',
  instructions: [],
  entries: [],
  toolsHash: '',
  answerTexts: [],
  providerCompactions: new Set(),
  finalAnswerId: undefined,
  hasIncompleteAnswer: false,
  exchange: undefined,
  branchSeed: '',
})

/** A shorter text may occur in another message by chance, so it does not identify an answer. */
export const MIN_DISTINCTIVE_CHARACTERS = 80
/** Answers whose texts are kept, to recognize them in a summary. */
const MAX_ANSWER_TEXTS = 4

/** The words of a question for a summary of the conversation. */
const SUMMARY = /summar|compact|condens|checkpoint|hand(?:ing)?[- ]?o(?:ff|ver)/iu
const CONVERSATION = /conversation|session|context|chat|history|transcript|so far|all of this/iu

const digest = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 24)

/** The hash of the tools that a request offers. */
export const hashTools = (tools: readonly unknown[]): string =>
  tools.length === 0 ? '' : digest(jsonText(recordable(tools)))

/** Whether a text asks for a summary of the conversation. */
export const asksForSummary = (question: string): boolean => SUMMARY.test(question) && CONVERSATION.test(question)

/** Keeps the text of an answer, to recognize it in a later summary. */
export function rememberAnswerText(
  conversation: TrackedConversation,
  text: string,
  id: string | undefined,
  isSummary: boolean,
): void {
  if (text.length < MIN_DISTINCTIVE_CHARACTERS) return
  conversation.answerTexts.push({ text, id, isSummary })
  if (conversation.answerTexts.length > MAX_ANSWER_TEXTS) conversation.answerTexts.shift()
}

/** Why a seed changes, as it is hashed into the ids of recorded messages: these words must not change. */
const BRANCH_WORDS = { rewind: 'again', restart: 'anew' } as const

/** The branch seed after messages were withdrawn or the list restarted. It has the length of one hash. */
export const nextBranchSeed = (
  { branchSeed, entries }: TrackedConversation,
  change: keyof typeof BRANCH_WORDS,
): string => digest(`${branchSeed}\n${BRANCH_WORDS[change]}\n${String(entries.length)}`)

/** The id of a message that follows another one. */
export const messageIdAfter = (
  { branchSeed }: Pick<TrackedConversation, 'branchSeed'>,
  previous: string | undefined,
  hash: string,
): string => `p-${digest(`${branchSeed}\n${previous ?? ''}\n${hash}`)}`

/** The id of the instruction at this index. */
export const instructionIdAt = (
  conversation: Pick<TrackedConversation, 'branchSeed'>,
  index: number,
  hash: string,
): string => messageIdAfter(conversation, `instruction ${String(index)}`, hash)

/** The hash of the text of a message that also has calls, answers one, or ends with a space. */
export function withTextHash({ role, content, tool_calls: calls }: Fields): Pick<Entry, 'textHash'> {
  const text = contentText(content).trimEnd()
  const isText = role !== 'tool' && listOf(calls).length === 0 && (typeof content !== 'string' || text === content)
  return isText || text === '' ? {} : { textHash: messageHash({ role, content: text }) }
}

/** The entry of a message that is recorded under an id. */
export const entryOf = ({ input, hash, isInParts, clearedFrom }: SourceMessage, id: string | undefined): Entry => ({
  ...(clearedFrom ?? clearablePart({ ...input })),
  id,
  hash,
  ...withTextHash({ ...input }),
  role: input.role,
  callId: input.tool_call_id,
  characters: comparedLength(input.content),
  isInParts,
})

/** The entries of messages that follow another one, with the ids under which they are recorded. */
export function entriesAfter(
  conversation: Pick<TrackedConversation, 'branchSeed'>,
  previous: Entry | undefined,
  messages: readonly SourceMessage[],
): Entry[] {
  let last = previous?.id ?? previous?.hash
  return messages.map((message) => {
    const id = messageIdAfter(conversation, last, message.hash)
    last = id
    return entryOf(message, id)
  })
}

/**
 * The number of messages up to the last whole answer. The client has no answer to the messages after it: its next list may
 * have others instead of them.
 */
export function answeredLength({
  entries,
  hasIncompleteAnswer,
}: Pick<TrackedConversation, 'entries' | 'hasIncompleteAnswer'>): number {
  const whole = hasIncompleteAnswer ? entries.slice(0, -1) : entries
  return whole.findLastIndex(({ role }) => role === 'assistant') + 1
}

/** The ids of the entries that are recorded. */
export const recordedIds = (entries: readonly Entry[]): string[] =>
  entries.flatMap(({ id }) => (id === undefined ? [] : [id]))
