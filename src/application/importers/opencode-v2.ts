/**
 * The newer formats of opencode: messages with a `type` instead of a role, and the durable events `session.next.*` from
 * which the program builds them. Both are read only if a file contains them.
 */
import { isRecord } from '../../lib/is-record.js'
import type { MessageBody } from '../../domain/values/message.js'
import { argumentsOf, contentPart, textPart, toContentPart } from './content-part.js'
import { textIn } from '../../lib/text-in.js'
import { contentOf, countIn, exitCodeIn, type Fields, inside, listIn, timeIn } from './bodies.js'
import {
  callIdIn,
  isEmptyStep,
  messagesOfStep,
  newStep,
  usageOf,
  type RecordContent,
  type RecordMessage,
} from './opencode-parts.js'

/** A prompt with its files, agents and references. */
function promptBody(prompt: unknown): MessageBody {
  const text = textIn(inside(prompt, 'text'))
  const hanging = ['files', 'agents', 'references'].flatMap((field) =>
    listIn(inside(prompt, field)).map((value) =>
      toContentPart(isRecord(value) ? { type: field.slice(0, -1), ...value } : value),
    ),
  )
  return { role: 'user', content: contentOf([...(text === undefined ? [] : [textPart(text)]), ...hanging]) }
}

/** A shell command that the user ran. */
const shellBody = (command: unknown, output: unknown): MessageBody => ({
  role: 'user',
  content: `Shell command: ${textIn(command) ?? ''}\n\n${textIn(output) ?? textIn(inside(output, 'output')) ?? ''}`,
})

/** The result of a tool call. */
function resultBody(toolCallId: string, state: unknown): MessageBody {
  const parts = listIn(inside(state, 'content')).map(contentPart)
  const error = inside(state, 'error')
  if (error !== undefined && error !== null)
    return {
      role: 'tool',
      toolCallId,
      content: contentOf([textPart(textIn(inside(error, 'message')) ?? argumentsOf(error)), ...parts]),
    }
  const otherOutput = inside(state, 'result') ?? inside(state, 'structured')
  return {
    role: 'tool',
    toolCallId,
    content: parts.length > 0 ? contentOf(parts) : otherOutput === undefined ? '' : argumentsOf(otherOutput),
  }
}

/** The replacement of the compacted messages: the summary, and the latest exchanges as text. Undefined if both are empty. */
export function checkpointBody(summary: string, recent: unknown): MessageBody | undefined {
  const parts = [
    ['summary', summary.trim()],
    ['recent-context', textIn(recent)?.trim() ?? ''],
  ] as const
  const tagged = parts.flatMap(([tag, text]) => (text === '' ? [] : [`<${tag}>\n${text}\n</${tag}>`]))
  if (tagged.length === 0) return undefined
  return {
    role: 'user',
    content: `<conversation-checkpoint>\n${tagged.join('\n\n')}\n</conversation-checkpoint>`,
  }
}

const modelIn = (message: Fields): string | undefined =>
  textIn(inside(message['model'], 'id')) ?? textIn(inside(message['model'], 'modelID'))

function answer(message: Fields, place: string): RecordContent {
  const step = newStep()
  const leftOut: string[] = []
  const children: (readonly [sessionId: string, callId: string])[] = []
  for (const [at, part] of listIn(message['content']).entries()) {
    if (!isRecord(part) || part['type'] !== 'tool') {
      if (inside(part, 'ignored') === true) leftOut.push('ignored text')
      else if (inside(part, 'text') !== '') step.parts.push(contentPart(part))
      continue
    }
    const state = part['state']
    const status = inside(state, 'status')
    const id = callIdIn(step, textIn(part['id']), `${place}.content[${String(at)}]`)
    const name = textIn(part['name']) ?? 'unknown'
    step.calls.push({ id, type: 'function', function: { name, arguments: argumentsOf(inside(state, 'input')) } })
    const metadata = inside(state, 'metadata')
    const child = textIn(inside(metadata, 'sessionID')) ?? textIn(inside(metadata, 'sessionId'))
    if (child !== undefined) children.push([child, id])
    if (status !== 'completed' && status !== 'error') continue
    step.results.push({
      body: resultBody(id, state),
      at: timeIn(inside(part['time'], 'completed')),
      ...(status === 'error' ? { isError: true } : {}),
      exitCode: exitCodeIn(inside(metadata, 'exit')),
      prunedAt: countIn(inside(part['time'], 'pruned')),
    })
  }
  if (isEmptyStep(step)) return { messages: [], leftOut, children }
  const rest = { at: timeIn(inside(message['time'], 'created')), model: modelIn(message) }
  return {
    messages: messagesOfStep(step, { ...rest, usage: usageOf(message['tokens'], message['cost']) }),
    leftOut,
    children,
  }
}

const MESSAGE_TYPES = new Set([
  'user',
  'synthetic',
  'skill',
  'system',
  'shell',
  'location-switched',
  'assistant',
  'compaction',
])

/** Whether a value is a message of this format. */
export const isV2Message = (value: Fields): boolean =>
  typeof value['type'] === 'string' && MESSAGE_TYPES.has(value['type']) && isRecord(value['time'])

/** The content of a message; empty for a compaction. */
export function contentOfV2(message: Fields, place: string): RecordContent {
  const at = timeIn(inside(message['time'], 'created'))
  const one = (single: Omit<RecordMessage, 'at'>): RecordContent => ({
    messages: [{ ...single, at }],
    leftOut: [],
    children: [],
  })
  const content = textIn(message['text']) ?? ''
  switch (message['type']) {
    case 'user':
      return one({ body: promptBody(message) })
    case 'synthetic':
    case 'skill':
      return one({ body: { role: 'user', content }, byProgram: true })
    case 'system':
      return one({ body: { role: 'system', content } })
    case 'shell':
      return one({ body: shellBody(message['command'], message['output']), byProgram: true })
    case 'location-switched': {
      const directory = textIn(inside(message['location'], 'directory'))
      return directory === undefined
        ? { messages: [], leftOut: [], children: [] }
        : one({
            body: { role: 'user', content: `The working directory has been changed to ${directory}.` },
            byProgram: true,
          })
    }
    case 'assistant':
      return answer(message, place)
    default:
      return { messages: [], leftOut: [], children: [] }
  }
}

/** A durable event. */
export interface OpencodeEvent {
  /** Without the prefix `session.next.` and the version suffix. */
  readonly name: string
  /** As in the file. */
  readonly type: string
  readonly id: string | undefined
  readonly data: Fields
}

/** Parses a durable event; undefined if the value is not one. */
export function eventIn(value: Fields): OpencodeEvent | undefined {
  const type = textIn(value['type'])
  if (type === undefined || !type.startsWith('session.')) return undefined
  const data = value['data'] ?? value['properties']
  if (!isRecord(data)) return undefined
  const name = type.replace(/^session\.(?:next\.)?/u, '').replace(/\.\d+$/u, '')
  return { name, type, id: textIn(value['id']), data }
}

/** The message of an event, with its id and the id of the answer that it is part of. */
export interface EventMessage {
  readonly message: RecordMessage
  readonly id: string | undefined
  readonly answerId?: string | undefined
}

/**
 * The message of an event; undefined if the event has none.
 * @param shells commands by call id: the event with the output does not repeat the command
 */
export function messageOfEvent(
  { name, id, data }: OpencodeEvent,
  shells: ReadonlyMap<string, string>,
): EventMessage | undefined {
  const at = timeIn(data['timestamp'])
  const answerId = textIn(data['assistantMessageID'])
  const callId = textIn(data['callID']) ?? id ?? 'call'
  const answerMessage = (body: MessageBody, isError?: true): EventMessage => ({
    message: { body, at, ...(isError === undefined ? {} : { isError }) },
    id,
    ...(body.role === 'assistant' && answerId !== undefined ? { answerId } : {}),
  })
  const promptMessage = (body: MessageBody, byProgram?: true): EventMessage => ({
    message: { body, at, ...(byProgram === undefined ? {} : { byProgram }) },
    id: textIn(data['messageID']) ?? id,
  })
  const text = textIn(data['text']) ?? ''
  switch (name) {
    case 'prompted':
    case 'prompt.promoted':
      return promptMessage(promptBody(data['prompt']))
    case 'synthetic':
    case 'skill.activated':
      return promptMessage({ role: 'user', content: text }, true)
    case 'context.updated':
      return promptMessage({ role: 'system', content: text })
    case 'shell.ended':
      return promptMessage(shellBody(shells.get(callId), data['output']), true)
    case 'text.ended':
      return text === '' ? undefined : answerMessage({ role: 'assistant', content: text })
    case 'reasoning.ended': {
      const { text: thought, providerMetadata } = data
      const part = { type: 'reasoning', text: thought, ...(providerMetadata === undefined ? {} : { providerMetadata }) }
      return answerMessage({ role: 'assistant', content: [toContentPart(part)] })
    }
    case 'tool.called': {
      const called = { name: textIn(data['tool']) ?? 'unknown', arguments: argumentsOf(data['input']) }
      return answerMessage({
        role: 'assistant',
        content: null,
        toolCalls: [{ id: callId, type: 'function', function: called }],
      })
    }
    case 'tool.success':
      return answerMessage(resultBody(callId, { ...data, error: undefined }))
    case 'tool.failed':
      return answerMessage(resultBody(callId, data), true)
    default:
      return undefined
  }
}
