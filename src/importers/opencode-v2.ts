/**
 * The newer words of opencode: messages that have a `type` instead of a role, and the durable events
 * `session.next.*` that they are made from. Both are only read where a file holds them.
 */
import type { ContentPart, MessageBody } from '../domain/values/message.js'
import { contentOf, countIn, isFields, textIn, timeIn, type Fields } from './bodies.js'
import { argumentsOf, keptPart, textPart } from './kept-part.js'
import { callIdIn, isEmptyStep, messagesOfStep, newStep, usageOf, type Said, type Spoken } from './opencode-parts.js'

const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const inside = (value: unknown, field: string): unknown => (isFields(value) ? value[field] : undefined)

/** Texts as texts, everything else as it came. */
const contentPart = (value: unknown): ContentPart => {
  const text = inside(value, 'text')
  return isFields(value) && value['type'] === 'text' && typeof text === 'string' ? textPart(text) : keptPart(value)
}

/** A prompt with what hangs on it. */
function promptBody(prompt: unknown): MessageBody {
  const text = textIn(inside(prompt, 'text'))
  const hanging = ['files', 'agents', 'references'].flatMap((field) =>
    listIn(inside(prompt, field)).map((value) =>
      keptPart(isFields(value) ? { type: field.slice(0, -1), ...value } : value),
    ),
  )
  return { role: 'user', content: contentOf([...(text === undefined ? [] : [textPart(text)]), ...hanging]) }
}

/** A command that the user ran beside the model. */
const shellBody = (command: unknown, output: unknown): MessageBody => ({
  role: 'user',
  content: `Shell command: ${textIn(command) ?? ''}\n\n${textIn(output) ?? textIn(inside(output, 'output')) ?? ''}`,
})

/** What a tool answered. */
function resultBody(toolCallId: string, state: unknown): MessageBody {
  const parts = listIn(inside(state, 'content')).map(contentPart)
  const error = inside(state, 'error')
  if (error !== undefined && error !== null)
    return {
      role: 'tool',
      toolCallId,
      content: contentOf([textPart(textIn(inside(error, 'message')) ?? argumentsOf(error)), ...parts]),
    }
  const other = inside(state, 'result') ?? inside(state, 'structured')
  return {
    role: 'tool',
    toolCallId,
    content: parts.length > 0 ? contentOf(parts) : other === undefined ? '' : argumentsOf(other),
  }
}

/** What stands for what was compacted: the summary, and the latest exchanges written down as one text. */
export const checkpointBody = (summary: string, recent: unknown): MessageBody => ({
  role: 'user',
  content: contentOf([summary, textIn(recent)].flatMap((text) => (text === undefined ? [] : [textPart(text)]))),
})

const modelIn = (message: Fields): string | undefined =>
  textIn(inside(message['model'], 'id')) ?? textIn(inside(message['model'], 'modelID'))

function answer(message: Fields, place: string): Said {
  const step = newStep()
  const leftOut: string[] = []
  for (const [at, part] of listIn(message['content']).entries()) {
    if (!isFields(part) || part['type'] !== 'tool') {
      if (inside(part, 'ignored') === true) leftOut.push('ignored text')
      else if (inside(part, 'text') !== '') step.parts.push(contentPart(part))
      continue
    }
    const state = part['state']
    const status = inside(state, 'status')
    const id = callIdIn(step, textIn(part['id']), `${place}.content[${String(at)}]`)
    const name = textIn(part['name']) ?? 'unknown'
    step.calls.push({ id, type: 'function', function: { name, arguments: argumentsOf(inside(state, 'input')) } })
    if (status !== 'completed' && status !== 'error') continue
    step.results.push({
      body: resultBody(id, state),
      at: timeIn(inside(part['time'], 'completed')),
      ...(status === 'error' ? { isError: true } : {}),
      prunedAt: countIn(inside(part['time'], 'pruned')),
    })
  }
  if (isEmptyStep(step)) return { messages: [], leftOut, children: [] }
  const rest = { at: timeIn(inside(message['time'], 'created')), model: modelIn(message) }
  return {
    messages: messagesOfStep(step, { ...rest, usage: usageOf(message['tokens'], message['cost']) }),
    leftOut,
    children: [],
  }
}

const MESSAGE_TYPES = new Set(['user', 'synthetic', 'skill', 'system', 'shell', 'assistant', 'compaction'])

/** Whether a value is a message of this kind. */
export const isV2Message = (value: Fields): boolean =>
  typeof value['type'] === 'string' && MESSAGE_TYPES.has(value['type']) && isFields(value['time'])

/** What a message says; a compaction says none. */
export function saidByV2(message: Fields, place: string): Said {
  const at = timeIn(inside(message['time'], 'created'))
  const one = (spoken: Omit<Spoken, 'at'>): Said => ({ messages: [{ ...spoken, at }], leftOut: [], children: [] })
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
    case 'assistant':
      return answer(message, place)
    default:
      return { messages: [], leftOut: [], children: [] }
  }
}

/** A durable event. */
export interface OpencodeEvent {
  /** Without `session.next.` in front and a version behind. */
  readonly name: string
  /** As the file has it. */
  readonly type: string
  readonly id: string | undefined
  readonly data: Fields
}

/** A value as a durable event; undefined where it is none. */
export function eventIn(value: Fields): OpencodeEvent | undefined {
  const type = textIn(value['type'])
  if (type === undefined || !type.startsWith('session.')) return undefined
  const data = value['data'] ?? value['properties']
  if (!isFields(data)) return undefined
  const name = type.replace(/^session\.(?:next\.)?/u, '').replace(/\.\d+$/u, '')
  return { name, type, id: textIn(value['id']), data }
}

/** A message that an event says, with its id and the id of the answer that it is part of. */
export interface SpokenByEvent {
  readonly spoken: Spoken
  readonly id: string | undefined
  readonly answerId?: string | undefined
}

/**
 * What an event says; undefined where it says no message.
 * @param shells commands by the id of their call: the event that brings the output does not repeat them
 */
export function spokenByEvent(
  { name, id, data }: OpencodeEvent,
  shells: ReadonlyMap<string, string>,
): SpokenByEvent | undefined {
  const at = timeIn(data['timestamp'])
  const answerId = textIn(data['assistantMessageID'])
  const callId = textIn(data['callID']) ?? id ?? 'call'
  const answering = (body: MessageBody, isError?: true): SpokenByEvent => ({
    spoken: { body, at, ...(isError === undefined ? {} : { isError }) },
    id,
    ...(body.role === 'assistant' && answerId !== undefined ? { answerId } : {}),
  })
  const saying = (body: MessageBody, byProgram?: true): SpokenByEvent => ({
    spoken: { body, at, ...(byProgram === undefined ? {} : { byProgram }) },
    id: textIn(data['messageID']) ?? id,
  })
  const text = textIn(data['text']) ?? ''
  switch (name) {
    case 'prompted':
    case 'prompt.promoted':
      return saying(promptBody(data['prompt']))
    case 'synthetic':
    case 'skill.activated':
      return saying({ role: 'user', content: text }, true)
    case 'context.updated':
      return saying({ role: 'system', content: text })
    case 'shell.ended':
      return saying(shellBody(shells.get(callId), data['output']), true)
    case 'text.ended':
      return text === '' ? undefined : answering({ role: 'assistant', content: text })
    case 'reasoning.ended': {
      const { text: thought, providerMetadata } = data
      const part = { type: 'reasoning', text: thought, ...(providerMetadata === undefined ? {} : { providerMetadata }) }
      return answering({ role: 'assistant', content: [keptPart(part)] })
    }
    case 'tool.called': {
      const called = { name: textIn(data['tool']) ?? 'unknown', arguments: argumentsOf(data['input']) }
      return answering({
        role: 'assistant',
        content: null,
        toolCalls: [{ id: callId, type: 'function', function: called }],
      })
    }
    case 'tool.success':
      return answering(resultBody(callId, { ...data, error: undefined }))
    case 'tool.failed':
      return answering(resultBody(callId, data), true)
    default:
      return undefined
  }
}
