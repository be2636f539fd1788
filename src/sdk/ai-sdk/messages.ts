/**
 * Messages of the AI SDK as the chat API has them, and back: both those that an application writes (`ModelMessage`) and
 * those that a language model is given (`LanguageModelV4Message`). What the chat API has no field for (options of a
 * provider, names of tools, signatures) is kept in `ai_sdk` beside the message, by the place of its part.
 */
import { z } from 'zod'
import type { ChatMessage, FunctionCall, MessageInput, MessagePart } from '../../domain/values/chat-message.js'
import type { MessageForm } from '../whole-list.js'

/** A part of a message: all forms of it have a type. */
export interface SdkPart {
  readonly type: string
  readonly [field: string]: unknown
}

/** A message of either form. */
export interface SdkMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string | readonly SdkPart[]
  readonly providerOptions?: unknown
}

/** What the chat API has no field for, of a message and of its parts by their places. */
const keptSchema = z.looseObject({
  providerOptions: z.unknown().optional(),
  /** Of a tool's message: the name of its tool, and the form of its output where that is no text. */
  toolName: z.string().optional(),
  output: z.looseObject({ type: z.string() }).optional(),
  parts: z.record(z.string(), z.looseObject({})).optional(),
  /** Places of the calls among the parts, where they do not stand behind all others. */
  calls: z.array(z.number()).optional(),
})
type Kept = z.infer<typeof keptSchema>

const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

/** Without the fields that say nothing. */
const said = <T extends object>(value: T): T =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same object without its undefined fields
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as T

const isEmpty = (value: object): boolean => Object.keys(value).length === 0

/** The data of a file in one form: tagged, its bytes as base64, its address as a text. */
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

/** A file as a part of the chat API where it has one for it; else as it came. */
function filePart(part: SdkPart): { readonly part: MessagePart; readonly kept: object } {
  const data = fileData(part.type === 'image' ? part['image'] : part['data'])
  const mediaType = textOf(part['mediaType'] ?? (part.type === 'image' ? 'image' : ''))
  const filename = typeof part['filename'] === 'string' ? part['filename'] : undefined
  const bytes = data.type === 'data' ? textOf(data['data']) : undefined
  const audio = AUDIO[mediaType]
  if (mediaType.startsWith('image') && (bytes !== undefined || data.type === 'url')) {
    const url = bytes === undefined ? textOf(data['url']) : `data:${mediaType};base64,${bytes}`
    return { part: { type: 'image_url', image_url: { url } }, kept: said({ mediaType, filename }) }
  }
  if (bytes !== undefined && audio !== undefined)
    return {
      part: { type: 'input_audio', input_audio: { data: bytes, format: audio } },
      kept: said({ mediaType, filename }),
    }
  if (bytes !== undefined && part.type === 'file')
    return {
      part: { type: 'file', file: said({ filename, file_data: `data:${mediaType};base64,${bytes}` }) },
      kept: said({ mediaType }),
    }
  return { part: { type: 'sdk_part', part: said({ ...part, data, providerOptions: undefined }) }, kept: {} }
}

/** The form of a part in the chat API, and what is kept beside it. */
function partToLedger(part: SdkPart): { readonly part: MessagePart; readonly kept: object } {
  if (part.type === 'text') return { part: { type: 'text', text: textOf(part['text']) }, kept: {} }
  if (part.type === 'reasoning') return { part: { type: 'reasoning', text: textOf(part['text']) }, kept: {} }
  if (part.type === 'file' || part.type === 'image') return filePart(part)
  return { part: { type: 'sdk_part', part: said({ ...part, providerOptions: undefined }) }, kept: {} }
}

const DATA_URL = /^data:([^;,]*);base64,(.*)$/su

function dataOfUrl(url: string): SdkPart {
  const found = DATA_URL.exec(url)
  return found === null ? { type: 'url', url: new URL(url) } : { type: 'data', data: found[2] ?? '' }
}

/** A part as the AI SDK has it, from ours and from what was kept beside it. */
function partFromLedger(given: MessagePart, kept: Readonly<Record<string, unknown>> = {}): SdkPart {
  const part: SdkPart = { ...given }
  const { providerOptions, ...rest } = kept
  const options = said({ providerOptions })
  // What was shortened is a text in the place of what it was.
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
    return { type: 'file', mediaType, ...said({ filename }), ...rest, data: dataOfUrl(url), ...options }
  }
  if (part.type === 'sdk_part' && isObject(part['part']))
    return { ...part['part'], type: textOf(part['part']['type']), ...options }
  return { ...part, ...options }
}

/** Parts by their places, where something is kept beside them. */
function keptParts(parts: readonly { readonly source: SdkPart; readonly kept: object }[]): Kept['parts'] {
  const kept = parts.flatMap(({ source, kept: each }, at) => {
    const all = said({ ...each, providerOptions: source['providerOptions'] })
    return isEmpty(all) ? [] : [[String(at), all] as const]
  })
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}

/** Parts as the content of a message: a single text is a text. */
function contentOf(parts: readonly MessagePart[]): string | readonly MessagePart[] {
  const [first] = parts
  if (first === undefined) return ''
  return parts.length === 1 && first.type === 'text' ? textOf(first['text']) : parts
}

const besides = (kept: Kept): { readonly ai_sdk?: Kept } => {
  const all = said(kept)
  return isEmpty(all) ? {} : { ai_sdk: all }
}

function callOf(part: SdkPart): FunctionCall {
  return {
    id: textOf(part['toolCallId']),
    type: 'function',
    function: { name: textOf(part['toolName']), arguments: textOf(part['input'] ?? {}) },
  }
}

/** A call whose result comes in a message of its own; one that the provider makes and answers stands in the content. */
const isCall = (part: SdkPart): boolean => part.type === 'tool-call' && part['providerExecuted'] !== true

function assistantToLedger(message: SdkMessage, parts: readonly SdkPart[]): MessageInput {
  const calls = parts.filter(isCall)
  const others = parts.filter((part) => !isCall(part)).map((source) => ({ source, ...partToLedger(source) }))
  const places = [...parts.entries()].flatMap(([at, part]) => (isCall(part) ? [at] : []))
  const areLast = places.every((place, at) => place === others.length + at)
  const ofCalls = keptParts(calls.map((source) => ({ source, kept: {} })))
  return {
    role: 'assistant',
    content: others.length === 0 && calls.length > 0 ? null : contentOf(others.map(({ part }) => part)),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(callOf) }),
    ...besides({
      providerOptions: message.providerOptions,
      parts: keptParts(others),
      calls: areLast ? undefined : places,
      ...(ofCalls === undefined ? {} : { ofCalls }),
    }),
  }
}

/** The output of a tool as a content, and its form where that is no text. */
function outputToLedger(output: unknown): {
  readonly content: string | readonly MessagePart[]
  readonly kept: Kept['output']
} {
  if (!isObject(output) || typeof output['type'] !== 'string') return { content: textOf(output), kept: undefined }
  const { type, value, ...rest } = output
  if (type === 'content' && Array.isArray(value)) {
    const parts = value.map((part: unknown): SdkPart =>
      isObject(part) ? { ...part, type: textOf(part['type']) } : { type: 'text', text: textOf(part) },
    )
    const told = parts.map((source) => ({ source, ...partToLedger(source) }))
    const ofParts = keptParts(told)
    return {
      content: told.map(({ part }) => part),
      kept: { ...rest, type, ...(ofParts === undefined ? {} : { parts: ofParts }) },
    }
  }
  if (type === 'execution-denied')
    return { content: textOf(output['reason'] ?? 'The call was denied.'), kept: { ...rest, type } }
  return { content: textOf(value), kept: type === 'text' && isEmpty(rest) ? undefined : { ...rest, type } }
}

function outputFromLedger(content: ChatMessage['content'], kept: Kept['output']): object {
  const { type, parts, ...rest }: NonNullable<Kept['output']> = kept ?? { type: 'text' }
  if (Array.isArray(content))
    return {
      ...rest,
      type: 'content',
      value: content.map((part: MessagePart, at) =>
        partFromLedger(part, isObject(parts) ? keptOf(parts[String(at)]) : {}),
      ),
    }
  if (type === 'json' || type === 'error-json') {
    try {
      return { ...rest, type, value: JSON.parse(content ?? 'null') as unknown }
    } catch {
      // A result that was shortened is no JSON any more.
      return { type: type === 'json' ? 'text' : 'error-text', value: content ?? '' }
    }
  }
  if (type === 'execution-denied') return { ...rest, type }
  return { ...rest, type: type === 'content' ? 'text' : type, value: content ?? '' }
}

const keptOf = (value: unknown): Readonly<Record<string, unknown>> => (isObject(value) ? value : {})

/** The messages of the chat API that a message of the AI SDK comes to. */
export function toLedger(message: SdkMessage): MessageInput[] {
  const { role, providerOptions } = message
  const parts = typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content
  if (role === 'system') return [{ role, content: textOf(message.content), ...besides({ providerOptions }) }]
  if (role === 'user') {
    const told = parts.map((source) => ({ source, ...partToLedger(source) }))
    return [
      {
        role,
        content: contentOf(told.map(({ part }) => part)),
        ...besides({ providerOptions, parts: keptParts(told) }),
      },
    ]
  }
  if (role === 'assistant') return [assistantToLedger(message, parts)]
  return parts
    .filter((part) => part.type === 'tool-result')
    .map((part): MessageInput => {
      const { content, kept } = outputToLedger(part['output'])
      return {
        role,
        tool_call_id: textOf(part['toolCallId']),
        content,
        ...besides({ toolName: textOf(part['toolName']), output: kept, providerOptions: part['providerOptions'] }),
      }
    })
}

/** Arguments as the AI SDK has them: parsed. What is no JSON stays a text. */
export function inputOf(text: string): unknown {
  try {
    return text === '' ? {} : (JSON.parse(text) as unknown)
  } catch {
    return text
  }
}

function assistantParts(message: ChatMessage, kept: Kept): SdkPart[] {
  const content: readonly MessagePart[] =
    typeof message.content === 'string'
      ? message.content === ''
        ? []
        : [{ type: 'text', text: message.content }]
      : (message.content ?? [])
  const others = content.map((part, at) => partFromLedger(part, kept.parts?.[String(at)]))
  const ofCalls = keptOf(kept['ofCalls'])
  const calls = (message.tool_calls ?? []).map((call, at): SdkPart => ({
    type: 'tool-call',
    toolCallId: call.id,
    toolName: call.function?.name ?? call.custom?.name ?? '',
    input: inputOf(call.function?.arguments ?? call.custom?.input ?? ''),
    ...keptOf(ofCalls[String(at)]),
  }))
  const places = new Set(kept.calls)
  if (places.size === 0) return [...others, ...calls]
  const all: SdkPart[] = []
  while (others.length + calls.length > 0) {
    const next = (places.has(all.length) ? calls.shift() : undefined) ?? others.shift() ?? calls.shift()
    if (next !== undefined) all.push(next)
  }
  return all
}

/** A message of the AI SDK from one of ours. */
export function fromLedger(message: ChatMessage): SdkMessage {
  const kept = keptSchema.safeParse('ai_sdk' in message ? message.ai_sdk : undefined).data ?? {}
  const options = said({ providerOptions: kept.providerOptions })
  const { role, content } = message
  if (role === 'system' || role === 'developer')
    return {
      role: 'system',
      content: typeof content === 'string' ? content : content.map(({ text }) => text).join('\n'),
      ...options,
    }
  if (role === 'assistant') return { role, content: assistantParts(message, kept), ...options }
  if (role === 'tool')
    return {
      role,
      content: [
        {
          type: 'tool-result',
          toolCallId: message.tool_call_id,
          toolName: kept.toolName ?? '',
          output: outputFromLedger(content, kept.output),
          ...options,
        },
      ],
    }
  const parts: readonly MessagePart[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  return { role, content: parts.map((part, at) => partFromLedger(part, kept.parts?.[String(at)])), ...options }
}

/** How messages of the AI SDK are told. */
export const sdkForm: MessageForm<SdkMessage> = { toLedger, fromLedger }

/**
 * What goes to a model: results that stand side by side are one message, as the AI SDK has them, and each names the tool
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
