/**
 * Converts messages of the AI SDK to those of the chat API, and back: both those that an application writes
 * (`ModelMessage`) and those that a language model receives (`LanguageModelV4Message`). Data without a field in the chat
 * API (provider options, tool names, signatures) is recorded in the field `ai_sdk`, by the index of its part.
 */
import { z } from 'zod'
import type { ChatMessage, FunctionCall, MessageInput, MessagePart } from '../../domain/values/chat-message.js'
import type { MessageConverter } from './message-converter.js'

/** A part of a message. */
export interface SdkPart {
  readonly type: string
  readonly [field: string]: unknown
}

/** A `ModelMessage` or a `LanguageModelV4Message`. */
export interface SdkMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string | readonly SdkPart[]
  readonly providerOptions?: unknown
}

/** The data of a message, and of its parts by index, that the chat API has no field for. */
const extraSchema = z.looseObject({
  providerOptions: z.unknown().optional(),
  /** For a tool result: the name of its tool, and the form of its output if it is not a text. */
  toolName: z.string().optional(),
  output: z.looseObject({ type: z.string() }).optional(),
  parts: z.record(z.string(), z.looseObject({})).optional(),
  /** Indexes of the calls among the parts, if they do not follow all other parts. */
  calls: z.array(z.number()).optional(),
})
type Extra = z.infer<typeof extraSchema>

const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

/** A copy without undefined fields. */
const withoutUndefined = <T extends object>(value: T): T =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same object without its undefined fields
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as T

const isEmpty = (value: object): boolean => Object.keys(value).length === 0

/** The data of a file in one form: with a type, bytes as base64, and the URL as a string. */
function fileData(data: unknown): SdkPart {
  if (data instanceof URL) return { type: 'url', url: data.href }
  if (data instanceof Uint8Array) return { type: 'data', data: Buffer.from(data).toString('base64') }
  if (data instanceof ArrayBuffer) return { type: 'data', data: Buffer.from(data).toString('base64') }
  if (typeof data === 'string')
    return /^[a-z][a-z\d+.-]*:/iu.test(data) ? { type: 'url', url: data } : { type: 'data', data }
  if (isObject(data) && data['type'] === 'data') return { type: 'data', data: fileData(data['data'])['data'] }
  if (isObject(data) && data['type'] === 'url')
    return { type: 'url', url: textOf(data['url'] instanceof URL ? data['url'].href : data['url']) }
  if (isObject(data) && typeof data['type'] === 'string') return { ...data, type: data['type'] }
  return { type: 'reference', reference: data }
}

const AUDIO: Readonly<Record<string, 'wav' | 'mp3'>> = { 'audio/wav': 'wav', 'audio/mpeg': 'mp3', 'audio/mp3': 'mp3' }

/** A file as a part of the chat API if it has a type for it, or else as an `sdk_part`. */
function filePart(part: SdkPart): { readonly part: MessagePart; readonly extra: object } {
  const data = fileData(part.type === 'image' ? part['image'] : part['data'])
  const mediaType = textOf(part['mediaType'] ?? (part.type === 'image' ? 'image' : ''))
  const filename = typeof part['filename'] === 'string' ? part['filename'] : undefined
  const bytes = data.type === 'data' ? textOf(data['data']) : undefined
  const audio = AUDIO[mediaType]
  if (mediaType.startsWith('image') && (bytes !== undefined || data.type === 'url')) {
    const url = bytes === undefined ? textOf(data['url']) : `data:${mediaType};base64,${bytes}`
    return { part: { type: 'image_url', image_url: { url } }, extra: withoutUndefined({ mediaType, filename }) }
  }
  if (bytes !== undefined && audio !== undefined)
    return {
      part: { type: 'input_audio', input_audio: { data: bytes, format: audio } },
      extra: withoutUndefined({ mediaType, filename }),
    }
  if (bytes !== undefined && part.type === 'file')
    return {
      part: { type: 'file', file: withoutUndefined({ filename, file_data: `data:${mediaType};base64,${bytes}` }) },
      extra: withoutUndefined({ mediaType }),
    }
  return {
    part: { type: 'sdk_part', part: withoutUndefined({ ...part, data, providerOptions: undefined }) },
    extra: {},
  }
}

/** A part in the chat API, and the data that it has no field for. */
function partToLedger(part: SdkPart): { readonly part: MessagePart; readonly extra: object } {
  if (part.type === 'text') return { part: { type: 'text', text: textOf(part['text']) }, extra: {} }
  if (part.type === 'reasoning') return { part: { type: 'reasoning', text: textOf(part['text']) }, extra: {} }
  if (part.type === 'file' || part.type === 'image') return filePart(part)
  return { part: { type: 'sdk_part', part: withoutUndefined({ ...part, providerOptions: undefined }) }, extra: {} }
}

const DATA_URL = /^data:([^;,]*);base64,(.*)$/su

function dataOfUrl(url: string): SdkPart {
  const match = DATA_URL.exec(url)
  return match === null ? { type: 'url', url: new URL(url) } : { type: 'data', data: match[2] ?? '' }
}

/** A part of the AI SDK from a part of the ledger and its extra data. */
function partFromLedger(ledgerPart: MessagePart, extra: Readonly<Record<string, unknown>> = {}): SdkPart {
  const part: SdkPart = { ...ledgerPart }
  const { providerOptions, ...rest } = extra
  const options = withoutUndefined({ providerOptions })
  // A shortened part is a text, whatever its type was.
  if (part.type === 'text') return { type: 'text', text: textOf(part['text']), ...options }
  if (part.type === 'image_url' && isObject(part['image_url'])) {
    const url = textOf(part['image_url']['url'])
    return { type: 'file', mediaType: DATA_URL.exec(url)?.[1] ?? 'image', ...rest, data: dataOfUrl(url), ...options }
  }
  if (part.type === 'input_audio' && isObject(part['input_audio'])) {
    const { data, format } = part['input_audio']
    const mediaType = format === 'wav' ? 'audio/wav' : 'audio/mpeg'
    return { type: 'file', mediaType, ...rest, data: { type: 'data', data }, ...options }
  }
  if (part.type === 'file' && isObject(part['file']) && 'file_data' in part['file']) {
    const url = textOf(part['file']['file_data'])
    const filename = part['file']['filename']
    const mediaType = DATA_URL.exec(url)?.[1] ?? 'application/octet-stream'
    return { type: 'file', mediaType, ...withoutUndefined({ filename }), ...rest, data: dataOfUrl(url), ...options }
  }
  if (part.type === 'sdk_part' && isObject(part['part']))
    return { ...part['part'], type: textOf(part['part']['type']), ...options }
  return { ...part, ...options }
}

/** The extra data of parts by index; undefined if there is none. */
function extraParts(parts: readonly { readonly source: SdkPart; readonly extra: object }[]): Extra['parts'] {
  const extra = parts.flatMap(({ source, extra: each }, at) => {
    const all = withoutUndefined({ ...each, providerOptions: source['providerOptions'] })
    return isEmpty(all) ? [] : [[String(at), all] as const]
  })
  return extra.length === 0 ? undefined : Object.fromEntries(extra)
}

/** Parts as the content of a message. A single text part becomes a string. */
function contentOf(parts: readonly MessagePart[]): string | readonly MessagePart[] {
  const [first] = parts
  if (first === undefined) return ''
  return parts.length === 1 && first.type === 'text' ? textOf(first['text']) : parts
}

const extraField = (extra: Extra): { readonly ai_sdk?: Extra } => {
  const all = withoutUndefined(extra)
  return isEmpty(all) ? {} : { ai_sdk: all }
}

function callOf(part: SdkPart): FunctionCall {
  return {
    id: textOf(part['toolCallId']),
    type: 'function',
    function: { name: textOf(part['toolName']), arguments: textOf(part['input'] ?? {}) },
  }
}

/** Whether a part is a call whose result is a separate message. A call that the provider runs stays in the content. */
const isCall = (part: SdkPart): boolean => part.type === 'tool-call' && part['providerExecuted'] !== true

function assistantToLedger(message: SdkMessage, parts: readonly SdkPart[]): MessageInput {
  const calls = parts.filter(isCall)
  const otherParts = parts.filter((part) => !isCall(part)).map((source) => ({ source, ...partToLedger(source) }))
  const callIndexes = [...parts.entries()].flatMap(([at, part]) => (isCall(part) ? [at] : []))
  const areCallsLast = callIndexes.every((index, at) => index === otherParts.length + at)
  const callExtras = extraParts(calls.map((source) => ({ source, extra: {} })))
  return {
    role: 'assistant',
    content: otherParts.length === 0 && calls.length > 0 ? null : contentOf(otherParts.map(({ part }) => part)),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(callOf) }),
    ...extraField({
      providerOptions: message.providerOptions,
      parts: extraParts(otherParts),
      calls: areCallsLast ? undefined : callIndexes,
      ...(callExtras === undefined ? {} : { ofCalls: callExtras }),
    }),
  }
}

/** The output of a tool as a content, and its form if it is not a text. */
function outputToLedger(output: unknown): {
  readonly content: string | readonly MessagePart[]
  readonly extra: Extra['output']
} {
  if (!isObject(output) || typeof output['type'] !== 'string') return { content: textOf(output), extra: undefined }
  const { type, value, ...rest } = output
  if (type === 'content' && Array.isArray(value)) {
    const parts = value.map((part: unknown): SdkPart =>
      isObject(part) ? { ...part, type: textOf(part['type']) } : { type: 'text', text: textOf(part) },
    )
    const converted = parts.map((source) => ({ source, ...partToLedger(source) }))
    const partExtras = extraParts(converted)
    return {
      content: converted.map(({ part }) => part),
      extra: { ...rest, type, ...(partExtras === undefined ? {} : { parts: partExtras }) },
    }
  }
  if (type === 'execution-denied')
    return { content: textOf(output['reason'] ?? 'The call was denied.'), extra: { ...rest, type } }
  return { content: textOf(value), extra: type === 'text' && isEmpty(rest) ? undefined : { ...rest, type } }
}

function outputFromLedger(content: ChatMessage['content'], extra: Extra['output']): object {
  const { type, parts, ...rest }: NonNullable<Extra['output']> = extra ?? { type: 'text' }
  if (Array.isArray(content))
    return {
      ...rest,
      type: 'content',
      value: content.map((part: MessagePart, at) =>
        partFromLedger(part, isObject(parts) ? fieldsOf(parts[String(at)]) : {}),
      ),
    }
  if (type === 'json' || type === 'error-json') {
    try {
      return { ...rest, type, value: JSON.parse(content ?? 'null') as unknown }
    } catch {
      // A shortened result is no longer JSON.
      return { type: type === 'json' ? 'text' : 'error-text', value: content ?? '' }
    }
  }
  if (type === 'execution-denied') return { ...rest, type }
  return { ...rest, type: type === 'content' ? 'text' : type, value: content ?? '' }
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> => (isObject(value) ? value : {})

/** The messages of the chat API for a message of the AI SDK. */
export function toLedger(message: SdkMessage): MessageInput[] {
  const { role, providerOptions } = message
  const parts = typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content
  if (role === 'system') return [{ role, content: textOf(message.content), ...extraField({ providerOptions }) }]
  if (role === 'user') {
    const converted = parts.map((source) => ({ source, ...partToLedger(source) }))
    return [
      {
        role,
        content: contentOf(converted.map(({ part }) => part)),
        ...extraField({ providerOptions, parts: extraParts(converted) }),
      },
    ]
  }
  if (role === 'assistant') return [assistantToLedger(message, parts)]
  return parts
    .filter((part) => part.type === 'tool-result')
    .map((part): MessageInput => {
      const { content, extra } = outputToLedger(part['output'])
      return {
        role,
        tool_call_id: textOf(part['toolCallId']),
        content,
        ...extraField({ toolName: textOf(part['toolName']), output: extra, providerOptions: part['providerOptions'] }),
      }
    })
}

/** The parsed arguments of a call. Arguments that are not JSON stay a string. */
export function inputOf(text: string): unknown {
  try {
    return text === '' ? {} : (JSON.parse(text) as unknown)
  } catch {
    return text
  }
}

function assistantParts(message: ChatMessage, extra: Extra): SdkPart[] {
  const content: readonly MessagePart[] =
    typeof message.content === 'string'
      ? message.content === ''
        ? []
        : [{ type: 'text', text: message.content }]
      : (message.content ?? [])
  const otherParts = content.map((part, at) => partFromLedger(part, extra.parts?.[String(at)]))
  const callExtras = fieldsOf(extra['ofCalls'])
  const calls = (message.tool_calls ?? []).map((call, at): SdkPart => ({
    type: 'tool-call',
    toolCallId: call.id,
    toolName: call.function?.name ?? call.custom?.name ?? '',
    input: inputOf(call.function?.arguments ?? call.custom?.input ?? ''),
    ...fieldsOf(callExtras[String(at)]),
  }))
  const callIndexes = new Set(extra.calls)
  if (callIndexes.size === 0) return [...otherParts, ...calls]
  const all: SdkPart[] = []
  while (otherParts.length + calls.length > 0) {
    const next = (callIndexes.has(all.length) ? calls.shift() : undefined) ?? otherParts.shift() ?? calls.shift()
    if (next !== undefined) all.push(next)
  }
  return all
}

/** The message of the AI SDK for one of the ledger. */
export function fromLedger(message: ChatMessage): SdkMessage {
  const extra = extraSchema.safeParse('ai_sdk' in message ? message.ai_sdk : undefined).data ?? {}
  const options = withoutUndefined({ providerOptions: extra.providerOptions })
  const { role, content } = message
  if (role === 'system' || role === 'developer')
    return {
      role: 'system',
      content: typeof content === 'string' ? content : content.map(({ text }) => text).join('\n'),
      ...options,
    }
  if (role === 'assistant') return { role, content: assistantParts(message, extra), ...options }
  if (role === 'tool')
    return {
      role,
      content: [
        {
          type: 'tool-result',
          toolCallId: message.tool_call_id,
          toolName: extra.toolName ?? '',
          output: outputFromLedger(content, extra.output),
          ...options,
        },
      ],
    }
  const parts: readonly MessagePart[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  return { role, content: parts.map((part, at) => partFromLedger(part, extra.parts?.[String(at)])), ...options }
}

/** Converts the messages of the AI SDK. */
export const sdkConverter: MessageConverter<SdkMessage> = { toLedger, fromLedger }

/**
 * The messages for a model. Adjacent results are joined to one message, as the AI SDK does, and each result names the tool
 * of its call.
 */
export function asPrompt(messages: readonly SdkMessage[]): SdkMessage[] {
  const names = new Map<unknown, unknown>()
  const prompt: SdkMessage[] = []
  for (const message of messages) {
    if (typeof message.content === 'string') {
      prompt.push(message)
      continue
    }
    for (const part of message.content) if (part.type === 'tool-call') names.set(part['toolCallId'], part['toolName'])
    if (message.role !== 'tool') {
      prompt.push(message)
      continue
    }
    const last = prompt.at(-1)
    const content = message.content.some(({ toolName }) => toolName === '')
      ? message.content.map((part) =>
          part['toolName'] === '' ? { ...part, toolName: names.get(part['toolCallId']) ?? 'unknown' } : part,
        )
      : message.content
    if (last?.role === 'tool' && typeof last.content !== 'string')
      prompt[prompt.length - 1] = { ...last, content: [...last.content, ...content] }
    else prompt.push(content === message.content ? message : { ...message, content })
  }
  return prompt
}
