/**
 * Compares a session that was handed over with the messages that it was made of, both read from the log. It does not use
 * the code of the handoff.
 */
import type { Ledger } from '../../src/index.js'
import { isRecord } from '../../src/lib/is-record.js'
import { textOnly, type ContentPart, type MessageBody } from '../../src/domain/values/message.js'
import { isOfType } from '../../src/application/recording/read-event.js'

/** A call with its result. */
interface ReadCall {
  readonly name: string
  readonly input: string
  readonly result: string | undefined
}

/** The content of a conversation. */
interface Conversation {
  /** The texts of each role, in order, without white space; adjacent ones of a role are one. */
  readonly texts: readonly string[]
  readonly calls: readonly ReadCall[]
  readonly images: readonly string[]
}

/** A message with its id. */
export type ReadMessage = MessageBody & {
  readonly messageId: string
  readonly attributes?: Readonly<Record<string, unknown>> | undefined
}

/** The recorded messages of a conversation. */
export async function messagesOf(ledger: Ledger, conversationId: string): Promise<ReadMessage[]> {
  const messages: ReadMessage[] = []
  for await (const event of ledger.log(conversationId))
    if (isOfType(event, 'MessageAppended')) messages.push(event.data)
  return messages
}

/** The summary of the first compaction. */
export async function handoverOf(ledger: Ledger, conversationId: string): Promise<string> {
  for await (const event of ledger.log(conversationId))
    if (isOfType(event, 'CompactionObserved')) return event.data.summary.kind === 'text' ? event.data.summary.text : ''
  return ''
}

const isReasoning = ({ type }: ContentPart): boolean => /think|reason|thought/u.test(type)

const textOf = (content: MessageBody['content']): string =>
  typeof content === 'string' || content === null
    ? (content ?? '')
    : textOnly(content.filter((part) => !isReasoning(part)))

/** Runs of base64 in the parts of a content: the bytes of its images. */
const imagesIn = (content: MessageBody['content']): string[] =>
  typeof content === 'string' || content === null
    ? []
    : content
        .filter((part) => !part.type.includes('text') && !isReasoning(part))
        .flatMap((part) => JSON.stringify(part).match(/[A-Za-z0-9+/]{60,}={0,2}/gu) ?? [])

export const squeezed = (text: string): string => text.replaceAll(/\s+/gu, '')

/** The text that replaces a part which other programs cannot hold. */
const PLACEHOLDER = /\[[\w-]+: not handed over\]/gu

/** The heading of a result that no call waits for. */
const HEADING = /\[Handed over: (?:the output of a tool|a further result of)[^\]]*:\]/gu

const HANDED = '[Handed over: the agent called the tool '

/** The fields of a value that are texts. */
const textFields = (value: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(isRecord(value) ? value : {}).flatMap(([field, text]) =>
      typeof text === 'string' ? [[field, text] as const] : [],
    ),
  )

function contentOf(messages: readonly ReadMessage[]): Conversation {
  const texts: { role: string; text: string }[] = []
  const calls: { name: string; input: string; id: string; result?: string }[] = []
  for (const { role, content, toolCalls = [], toolCallId } of messages) {
    const text = squeezed(textOf(content).replaceAll(PLACEHOLDER, '').replaceAll(HEADING, ''))
    if (role === 'tool') {
      const call = calls.find(({ id, result }) => id === toolCallId && result === undefined)
      if (call === undefined) texts.push({ role: 'user', text })
      else call.result = text
      continue
    }
    const last = texts.at(-1)
    if (text !== '' && last?.role === role) last.text += text
    else if (text !== '') texts.push({ role, text })
    for (const call of toolCalls) {
      const { custom } = call
      const free: { name?: string; input?: string } = { ...textFields(custom) }
      calls.push({
        id: call.id,
        name: call.function?.name ?? free['name'] ?? call.type,
        input: call.function?.arguments ?? free['input'] ?? '',
      })
    }
  }
  return {
    texts: texts.map(({ role, text }) => `${role}: ${text}`),
    calls: calls.map(({ name, input, result }) => ({ name, input, result })),
    images: messages.filter(({ role }) => role !== 'assistant').flatMap(({ content }) => imagesIn(content)),
  }
}

/** All texts in a value. */
function leaves(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leaves) : [String(value)]
}

const leavesOf = (input: string): string[] => {
  try {
    return leaves(JSON.parse(input))
  } catch {
    return [input]
  }
}

/** Whether a call says the same as the original one, possibly with other names. */
const isSame = (call: ReadCall, original: ReadCall): boolean => {
  const before = leavesOf(original.input)
  return call.result === original.result && leavesOf(call.input).every((leaf) => before.includes(leaf))
}

/** The result of a comparison. */
export interface ReadBack {
  readonly problems: readonly string[]
  /** Calls of the new session. */
  readonly native: number
  /** Calls that are text in the new session. */
  readonly asText: number
}

/**
 * Compares the messages that were handed over with those of the new session.
 * @param original the messages that travelled, in order
 * @param session the messages of the new session
 */
export function readBack(original: readonly ReadMessage[], session: readonly ReadMessage[]): ReadBack {
  const isHanded = ({ role, content }: ReadMessage): boolean => role === 'user' && textOf(content).startsWith(HANDED)
  const handedIn = (messages: readonly ReadMessage[]): string[] =>
    messages.filter(isHanded).flatMap(({ content }) =>
      textOf(content)
        .replaceAll(PLACEHOLDER, '')
        .split(HANDED)
        .filter((text) => text !== '')
        .map(squeezed),
    )
  const spoken = (messages: readonly ReadMessage[]): Conversation =>
    contentOf(messages.filter((message) => !isHanded(message)))
  const [expected, found] = [spoken(original), spoken(session)]
  const handed = handedIn(session)
  // Such texts of an earlier handoff travel as they are.
  for (const text of handedIn(original)) handed.splice(handed.indexOf(text), handed.includes(text) ? 1 : 0)
  const rest = [...found.calls]
  const problems: string[] = []
  let asText = 0
  for (const call of expected.calls) {
    const [next] = rest
    if (next !== undefined && isSame(next, call)) {
      rest.shift()
      continue
    }
    const words = [
      call.name,
      call.result ?? '',
      ...leavesOf(call.input).map((leaf) => JSON.stringify(leaf).slice(1, -1)),
    ]
    const at = handed.findIndex(
      (text) => words.every((word) => text.includes(squeezed(word))) || text.includes(squeezed(call.input)),
    )
    if (at === -1) problems.push(`call lost: ${call.name} ${call.input.slice(0, 100)}`)
    else {
      handed.splice(at, 1)
      asText += 1
    }
  }
  if (rest.length > 0) problems.push(`${String(rest.length)} calls without an original`)
  if (handed.length > 0) problems.push(`${String(handed.length)} texts of calls without an original`)
  if (expected.texts.join('\n') !== found.texts.join('\n'))
    problems.push(
      `texts differ: ${JSON.stringify(expected.texts.find((each, at) => each !== found.texts[at])?.slice(0, 300))} and ${JSON.stringify(found.texts.find((each, at) => each !== expected.texts[at])?.slice(0, 300))}`,
    )
  const images = new Set(session.flatMap(({ content }) => imagesIn(content)))
  for (const image of expected.images) if (!images.has(image)) problems.push(`image lost: ${image.slice(0, 20)}`)
  return { problems, native: found.calls.length, asText }
}
