/**
 * Converts recorded messages to turns that the target program can hold: calls get their results, calls of tools that it
 * lacks become text, and parts that it cannot hold are left out and counted.
 */
import { isDeepStrictEqual } from 'node:util'
import { isRecord } from '../../lib/is-record.js'
import { exactJson, exactText } from '../../lib/json.js'
import { answeredCalls, placedMessages, resultsByCall, toolOfCall } from '../../domain/conversation/call-groups.js'
import { INCOMPLETE } from '../../domain/conversation/observed-context.js'
import {
  isReasoning,
  isTextPart,
  type ContentPart,
  type MessageBody,
  type ToolCall,
} from '../../domain/values/message.js'
import type { SessionCall, SessionPart, SessionResult, SessionTurn } from './session.js'
import { translated } from './tools.js'

/** A message of the context, as it was last sent to the model. */
export interface HandedMessage {
  /** Undefined if the program inserted it. */
  readonly messageId: string | undefined
  readonly body: MessageBody
  readonly at: string
  readonly isError: boolean
  readonly model: string | undefined
  /** Messages of one answer share it. */
  readonly answerId: string | undefined
}

/** Numbers of things that the new session lacks or has in another form. */
export type Losses = Map<string, number>

export const lose = (losses: Losses, what: string, number = 1): void => {
  losses.set(what, (losses.get(what) ?? 0) + number)
}

/** The changes by which the program can resume the session: numbers by kind. */
export interface Repairs {
  /** Calls without a result, which got one that says that they were interrupted. */
  readonly openCalls: number
  /** Results without their call, which became texts. */
  readonly resultsWithoutCall: number
  /** Results equal to the first result of their call, which were left out. */
  readonly repeatedResults: number
  /** Other results after the first one of their call, which became texts. */
  readonly furtherResults: number
  /** Calls with arguments that were cut off: the argument `incomplete_arguments` has their text. */
  readonly incompleteArguments: number
}

export const NO_REPAIRS: Repairs = {
  openCalls: 0,
  resultsWithoutCall: 0,
  repeatedResults: 0,
  furtherResults: 0,
  incompleteArguments: 0,
}

/** The programs of a handoff, and whether it is a repair for the same program. */
interface Direction {
  readonly from: string | undefined
  readonly to: string
  readonly isRepair?: boolean
}

/** The result that a repair gives to a call without one. */
const INTERRUPTED = '[Interrupted: the session ended before this call had a result.]'

const DATA_URL = /^data:(?<mediaType>image\/[\w.+-]+);base64,(?<data>[^]+)$/u

const image = (mediaType: unknown, data: unknown): SessionPart | undefined =>
  typeof mediaType === 'string' && mediaType.startsWith('image/') && typeof data === 'string' && data !== ''
    ? { kind: 'image', mediaType, data }
    : undefined

/** The image of a part, in the forms of the programs and of the APIs; undefined for other parts, and for a link. */
function imageOf(part: ContentPart): SessionPart | undefined {
  const { source, image_url: link, inlineData, mimeType, data, url, mime } = part
  if (isRecord(source) && source['type'] === 'base64') return image(source['media_type'], source['data'])
  if (isRecord(inlineData)) return image(inlineData['mimeType'], inlineData['data'])
  if (part.type === 'image' && mimeType !== undefined) return image(mimeType, data)
  const address = isRecord(link) ? link['url'] : mime === undefined ? undefined : url
  const found = typeof address === 'string' ? DATA_URL.exec(address)?.groups : undefined
  return found === undefined ? undefined : image(found['mediaType'], found['data'])
}

/** A text as a part. Returns no part for blank text, because APIs reject it. */
const textPart = (text: string): SessionPart[] => (text.trim() === '' ? [] : [{ kind: 'text', text }])

/** The parts of a content that every program can hold. */
function partsOf(content: MessageBody['content'], losses: Losses): SessionPart[] {
  if (content === null) return []
  if (typeof content === 'string') return textPart(content)
  return content.flatMap((part): SessionPart[] => {
    if (isReasoning(part)) {
      lose(losses, 'reasoning of the model')
      return []
    }
    if (isTextPart(part)) return textPart(part.text)
    const found = imageOf(part)
    if (found !== undefined) return [found]
    lose(losses, `part of type ${part.type}`)
    return [{ kind: 'text', text: `[${part.type}: not handed over]` }]
  })
}

/** The name and the arguments of a call. */
interface CallParts {
  readonly name: string
  readonly input: Readonly<Record<string, unknown>> | string
}

function callParts(call: ToolCall): CallParts {
  const { name, input: text } = toolOfCall(call)
  if (call.function === undefined) return { name, input: text }
  try {
    const input = exactJson(text === '' ? '{}' : text)
    return { name, input: isRecord(input) ? input : text }
  } catch {
    return { name, input: text }
  }
}

/** A call for the target; undefined if it becomes text. */
function targetCall(call: CallParts, { from, to }: Direction, losses: Losses): CallParts | undefined {
  const { name, input } = call
  // Only Codex has tools that take free text.
  if (typeof input === 'string') return from === to && to === 'codex' ? call : undefined
  const made = translated({ name, input }, from, to)
  for (const field of made?.ignored ?? []) lose(losses, `argument ${field} of ${name}`)
  return made
}

/** A call and its result as a text for people and models. */
const callText = ({ name, input }: CallParts, result: SessionResult | undefined): string =>
  [
    `[Handed over: the agent called the tool ${name} with]`,
    typeof input === 'string' ? input : (exactText(input) ?? '{}'),
    result === undefined ? '[It has no result.]' : `[${result.isError ? 'It failed' : 'It returned'}:]`,
    ...(result === undefined ? [] : result.parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []))),
  ].join('\n')

/** The maximum length of a call id that every API accepts. */
const MAX_CALL_ID = 40

/** Call ids that every API accepts, each once. */
class CallIds {
  readonly #used = new Set<string>()

  next(id: string): string {
    const plain = id.replaceAll(/[^\w-]/gu, '_')
    const base = plain === '' ? 'call' : plain
    let found = base.slice(0, MAX_CALL_ID)
    for (let number = 2; this.#used.has(found); number += 1) {
      const suffix = `_${String(number)}`
      found = `${base.slice(0, MAX_CALL_ID - suffix.length)}${suffix}`
    }
    this.#used.add(found)
    return found
  }
}

/** Turns that are handed over together or not at all: an answer with its results, or a message of the user. */
export interface Piece {
  readonly turns: readonly SessionTurn[]
  /** The recorded messages that it is made of. */
  readonly messageIds: readonly string[]
  readonly losses: Losses
  readonly repairs: Repairs
}

/** A message of an answer, with the results of its calls. */
interface AnswerMessage {
  readonly message: HandedMessage
  readonly results: readonly HandedMessage[]
}

/** Messages of the assistant that are one answer. */
interface Answer {
  readonly messages: AnswerMessage[]
}

/** A result that answers no call without a result, and that call if there is one. */
interface StrayResult {
  readonly stray: HandedMessage
  readonly call: ToolCall | undefined
  /** It is equal to the first result of that call. */
  readonly isRepeated: boolean
}

const isOfAnswer = ({ messages }: Answer, { body, answerId }: HandedMessage): boolean =>
  body.role === 'assistant' && answerId !== undefined && messages.at(-1)?.message.answerId === answerId

/** Groups messages: each result is with its call, and messages of one answer are together. */
function groupsOf(messages: readonly HandedMessage[]): (Answer | StrayResult | HandedMessage)[] {
  const groups: (Answer | StrayResult | HandedMessage)[] = []
  const bodies = messages.map(({ body }) => body)
  const answered = answeredCalls(bodies)
  const firstResults = resultsByCall(bodies, answered)
  for (const [first, ...others] of placedMessages(bodies)) {
    const message = first === undefined ? undefined : messages[first.at]
    if (message === undefined) continue
    if (first?.kind === 'stray') {
      const call = answered.get(first.at)?.call
      const firstResult = call === undefined ? undefined : firstResults.get(call)
      const isRepeated = firstResult !== undefined && isDeepStrictEqual(firstResult.content, message.body.content)
      groups.push({ stray: message, call, isRepeated })
      continue
    }
    const last = groups.at(-1)
    const results = others.flatMap(({ kind, at }) => (kind === 'message' ? (messages[at] ?? []) : []))
    if (message.body.role === 'tool') groups.push({ stray: message, call: undefined, isRepeated: false })
    else if (message.body.role !== 'assistant') groups.push(message)
    else if (last !== undefined && 'messages' in last && isOfAnswer(last, message))
      last.messages.push({ message, results })
    else groups.push({ messages: [{ message, results }] })
  }
  return groups
}

const idsOf = (messages: readonly Pick<HandedMessage, 'messageId'>[]): string[] =>
  messages.flatMap(({ messageId }) => messageId ?? [])

/** A message of the user. */
function userPiece({ messageId, body, at }: HandedMessage): Piece {
  const losses: Losses = new Map()
  const parts = partsOf(body.content, losses)
  return {
    turns: parts.length === 0 ? [] : [{ role: 'user', at, parts }],
    messageIds: idsOf([{ messageId }]),
    losses,
    repairs: NO_REPAIRS,
  }
}

/** A result that no call waits for, as a text of a tool in the role of the user. */
function strayPiece({ stray, call, isRepeated }: StrayResult, { isRepair = false }: Direction): Piece {
  const { body, at, isError } = stray
  const messageIds = idsOf([stray])
  const losses: Losses = new Map()
  if (isRepair && isRepeated) return { turns: [], messageIds, losses, repairs: { ...NO_REPAIRS, repeatedResults: 1 } }
  if (!isRepair)
    lose(losses, call === undefined ? 'result without its call, as text' : 'further result of a call, as text')
  const kind = call === undefined ? 'resultsWithoutCall' : 'furtherResults'
  const what =
    call === undefined
      ? body.toolCallId === undefined
        ? 'the output of a tool, which names no call'
        : `the output of a tool, whose call ${body.toolCallId} is not in this session`
      : `a further result of the call of the tool ${toolOfCall(call).name}`
  const head: SessionPart = { kind: 'text', text: `[Handed over: ${what}${isError ? '; it failed' : ''}:]` }
  const parts = partsOf(body.content, losses)
  return {
    turns: [{ role: 'user', at, parts: [head, ...parts] }],
    messageIds,
    losses,
    repairs: isRepair ? { ...NO_REPAIRS, [kind]: 1 } : NO_REPAIRS,
  }
}

/**
 * The calls of an answer with their results. A repeated record of a call counts once: the first one with a result, or
 * else the last one.
 */
function callsOf({ messages }: Answer): { readonly call: ToolCall; readonly result: HandedMessage | undefined }[] {
  const all = messages.flatMap(({ message, results }) =>
    (message.body.toolCalls ?? []).map((call) => ({
      call,
      result: results.find(({ body }) => body.toolCallId === call.id),
    })),
  )
  return all.filter(
    ({ call, result }, at) =>
      result !== undefined ||
      !all.some(
        (other, otherAt) =>
          otherAt !== at && (otherAt > at || other.result !== undefined) && isDeepStrictEqual(other.call, call),
      ),
  )
}

const resultOf = (found: HandedMessage | undefined, losses: Losses): SessionResult | undefined =>
  found === undefined ? undefined : { at: found.at, parts: partsOf(found.body.content, losses), isError: found.isError }

const interruptedAt = (at: string): SessionResult => ({
  at,
  parts: [{ kind: 'text', text: INTERRUPTED }],
  isError: true,
})

/** Converts one answer. */
function answerPiece(answer: Answer, direction: Direction, ids: CallIds): Piece {
  const messages = answer.messages.map(({ message }) => message)
  const results = answer.messages.flatMap((each) => each.results)
  const losses: Losses = new Map()
  const [first] = messages
  const parts = messages.flatMap(({ body }) => partsOf(body.content, losses))
  const images = parts.filter(({ kind }) => kind === 'image').length
  if (images > 0) lose(losses, 'image in an answer of the model', images)
  const calls: SessionCall[] = []
  const texts: SessionPart[] = []
  const { isRepair = false } = direction
  let [openCalls, incompleteArguments] = [0, 0]
  for (const { call, result: found } of callsOf(answer)) {
    const received = callParts(call)
    const isIncomplete = isRepair && call.function !== undefined && typeof received.input === 'string'
    const source = isIncomplete ? { ...received, input: { [INCOMPLETE]: received.input } } : received
    if (isIncomplete) incompleteArguments += 1
    if (isRepair && found === undefined) openCalls += 1
    const result = resultOf(found, losses) ?? (isRepair ? interruptedAt(first?.at ?? '') : undefined)
    const made = result === undefined ? undefined : targetCall(source, direction, losses)
    if (made !== undefined && result !== undefined) calls.push({ id: ids.next(call.id), ...made, result })
    else {
      lose(losses, `call of ${source.name}${result === undefined ? ' without a result' : ''}, as text`)
      texts.push({ kind: 'text', text: callText(source, result) })
      texts.push(...(result?.parts ?? []).filter(({ kind }) => kind === 'image'))
    }
  }
  const text = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n\n')
  const at = first?.at ?? ''
  const turns: SessionTurn[] = []
  if (text !== '' || calls.length > 0) turns.push({ role: 'assistant', at, text, model: first?.model, calls })
  if (texts.length > 0) turns.push({ role: 'user', at: results.at(-1)?.at ?? at, parts: texts })
  const repairs = { ...NO_REPAIRS, openCalls, incompleteArguments }
  return { turns, messageIds: idsOf([...messages, ...results]), losses, repairs }
}

/**
 * Converts messages to pieces, in order.
 * @param messages of the user, the assistant and tools
 */
export function piecesOf(messages: readonly HandedMessage[], direction: Direction): Piece[] {
  const ids = new CallIds()
  return groupsOf(messages).map((group) =>
    'messages' in group
      ? answerPiece(group, direction, ids)
      : 'stray' in group
        ? strayPiece(group, direction)
        : userPiece(group),
  )
}
