/**
 * Converts the messages of the AI SDK's user interface (`UIMessage`, as `useChat` has them) to messages of a ledger, and
 * loads them from it. A step of an answer is one message of the ledger, and each tool result another one, so that the ledger's context has them
 * in their form for a model. Everything that a model does not receive is in the attribute `uiMessage`.
 */
import type { UIMessage } from 'ai'
import { z } from 'zod'
import type { EventData } from '../../../domain/events/index.js'
import { issueSentence } from '../../../domain/values/issue-sentence.js'
import type { MessageInput, MessagePart } from '../../../domain/values/chat-message.js'
import { isLedgerError } from '../../../lib/ledger-error.js'
import type { Ledger } from '../../../library/ledger.js'
import { problem } from '../../../library/problem.js'
import { inputOf, toLedger, type SdkPart } from '../../../application/model-apis/ai-sdk-messages.js'
import {
  fieldsOf,
  jsonText,
  listOf,
  parseJson,
  textOf,
  withoutFields,
  type Fields,
} from '../../../application/model-apis/json.js'
import { isSameExceptSecrets } from '../../../application/secrets/same-except-secrets.js'
import { checkConversationId, toJson } from '../options.js'

/** A message of the user interface as JSON. */
interface UiJson extends Fields {
  readonly id: string
  readonly role: 'system' | 'user' | 'assistant'
  readonly parts: readonly SdkPart[]
}

const listSchema = z.array(
  z.looseObject({
    id: z.string().min(1),
    role: z.enum(['system', 'user', 'assistant']),
    parts: z.array(z.looseObject({ type: z.string() })),
  }),
)

/**
 * A part of the user interface. `ui` has its fields, without those that the message of the ledger has: the text or the
 * address of the content part `at`, or the input of `call`.
 */
const storedPartSchema = z.looseObject({
  ui: z.looseObject({ type: z.string() }),
  at: z.number().optional(),
  call: z.string().optional(),
})
type StoredPart = z.infer<typeof storedPartSchema>

/** The attribute `uiMessage`: the id of the UI message, and its fields on its first message of the ledger. */
const attributeSchema = z.looseObject({
  id: z.string(),
  fields: z.looseObject({}).optional(),
  parts: z.array(storedPartSchema).optional(),
  /** Of a tool result: fields of the tool's part. */
  result: z.looseObject({}).optional(),
})
type UiAttribute = z.infer<typeof attributeSchema>

export type Recorded = EventData<'MessageAppended'>

const DATA_URL = /^data:[^;,]*;base64,([A-Za-z0-9+/]+=*)$/u

/** The data of a file for a model: its bytes, or its address. */
const fileData = (url: string): Fields => {
  const bytes = DATA_URL.exec(url)?.[1]
  return bytes === undefined ? { type: 'url', url } : { type: 'data', data: bytes }
}

/** The address of a file, as the content part of the ledger has it. */
function urlOf(part: unknown): string | undefined {
  const { image_url: image, file, part: sdkPart } = fieldsOf(part)
  return (
    textOf(fieldsOf(image)['url']) ??
    textOf(fieldsOf(file)['file_data']) ??
    textOf(fieldsOf(fieldsOf(sdkPart)['data'])['url'])
  )
}

/** The content part for a model; undefined if a model does not receive the part. */
function contentPart({ type, text, url, mediaType, filename, providerMetadata }: SdkPart): SdkPart | undefined {
  const options = providerMetadata === undefined ? {} : { providerOptions: providerMetadata }
  if ((type === 'text' || type === 'reasoning') && typeof text === 'string' && text !== '')
    return { type, text, ...options }
  if (type !== 'file' || typeof url !== 'string' || !URL.canParse(url)) return undefined
  return { type, mediaType, ...(filename === undefined ? {} : { filename }), data: fileData(url), ...options }
}

const toolName = ({ type, toolName: name }: SdkPart): string =>
  type === 'dynamic-tool' ? (textOf(name) ?? '') : type.slice('tool-'.length)

/** Whether a model receives the part as a call. The input of other tool parts is not complete. */
const isCall = (part: SdkPart): boolean =>
  (part.type === 'dynamic-tool' || part.type.startsWith('tool-')) &&
  typeof part['toolCallId'] === 'string' &&
  part['toolCallId'] !== '' &&
  toolName(part) !== '' &&
  part['providerExecuted'] !== true &&
  part['state'] !== 'input-streaming' &&
  part['input'] !== undefined

/** The output of a call for a model; undefined if there is none yet. */
function outputOf({ state, output, errorText, approval }: SdkPart): Fields | undefined {
  if (state === 'output-error') return { type: 'error-text', value: textOf(errorText) ?? '' }
  if (state === 'output-denied') return { type: 'execution-denied', reason: textOf(fieldsOf(approval)['reason']) }
  if (state !== 'output-available') return undefined
  return typeof output === 'string' ? { type: 'text', value: output } : { type: 'json', value: output ?? null }
}

/** The state of a call by the output of its result. */
const STATES: Readonly<Record<string, string>> = { 'error-text': 'output-error', 'execution-denied': 'output-denied' }
const stateBy = (output: Fields | undefined): string =>
  output === undefined ? 'input-available' : (STATES[String(output['type'])] ?? 'output-available')

const RESULT_FIELDS = new Set(['output', 'errorText', 'preliminary', 'resultProviderMetadata'])

/** A message of the ledger for a UI message, with its id if it was not replaced. */
export type SavedInput = MessageInput & { readonly id: string }

/** Builds the messages of the ledger for one step of a UI message. */
class Step {
  private readonly content: SdkPart[] = []
  private readonly calls: SdkPart[] = []
  private readonly results: SavedInput[] = []
  private readonly stored: StoredPart[] = []

  constructor(
    private readonly message: UiJson,
    private readonly number: number,
  ) {}

  get isEmpty(): boolean {
    return this.content.length + this.calls.length === 0
  }

  take(part: SdkPart): void {
    const content = contentPart(part)
    if (content !== undefined) this.takeContent(part, content)
    else if (isCall(part) && !this.calls.some(({ toolCallId }) => toolCallId === part['toolCallId']))
      this.takeCall(part)
    else this.stored.push({ ui: part })
  }

  private takeContent(part: SdkPart, content: SdkPart): void {
    const [input] = toLedger({ role: 'user', content: [content, content] })
    const isExact = part.type !== 'file' || urlOf(listOf(input?.content)[0]) === part['url']
    const known = new Set(['text', 'providerMetadata', ...(isExact ? ['url'] : [])])
    // The instructions of a system message are one text.
    if (this.message.role === 'system') this.stored.push({ ui: part })
    else this.stored.push({ ui: { type: part.type, ...withoutFields(part, known) }, at: this.content.length })
    this.content.push(content)
  }

  private takeCall(part: SdkPart): void {
    const { input, callProviderMetadata, state } = part
    const id = String(part['toolCallId'])
    const output = outputOf(part)
    const text = typeof input === 'string' ? input : jsonText(input)
    const known = new Set([
      'callProviderMetadata',
      ...RESULT_FIELDS,
      ...(isSameExceptSecrets(inputOf(text), input) ? ['input'] : []),
      ...(state === stateBy(output) ? ['state'] : []),
    ])
    this.stored.push({ ui: { type: part.type, ...withoutFields(part, known) }, call: id })
    const options = callProviderMetadata === undefined ? {} : { providerOptions: callProviderMetadata }
    this.calls.push({ type: 'tool-call', toolCallId: id, toolName: toolName(part), input: text, ...options })
    if (output !== undefined) this.takeResult(part, id, output)
  }

  private takeResult(part: SdkPart, id: string, output: Fields): void {
    const result = {
      ...(part['preliminary'] === undefined ? {} : { preliminary: part['preliminary'] }),
      ...(part['state'] === 'output-available' && part['output'] === undefined ? { hasNoOutput: true } : {}),
    }
    const providerOptions = part['resultProviderMetadata']
    const sdkResult = { type: 'tool-result', toolCallId: id, toolName: toolName(part), output, providerOptions }
    for (const message of toLedger({ role: 'tool', content: [sdkResult] }))
      this.results.push({
        ...message,
        id: `${this.message.id}#${String(this.number)}-${id}`,
        ...(output['type'] === 'error-text' ? { is_error: true } : {}),
        attributes: { uiMessage: { id: this.message.id, result } },
      })
  }

  messages(): SavedInput[] {
    const { id, role } = this.message
    const fields = withoutFields(this.message, new Set(['id', 'role', 'parts']))
    const uiMessage: UiAttribute = { id, ...(this.number === 0 ? { fields } : {}), parts: this.stored }
    const parts = [...this.content, ...this.calls]
    const content = role === 'system' ? this.content.map(({ text }) => textOf(text) ?? '').join('') : parts
    const [message] = toLedger({ role, content })
    if (message === undefined) return []
    const stepId = this.number === 0 ? id : `${id}#${String(this.number)}`
    return [{ ...message, id: stepId, attributes: { uiMessage } }, ...this.results]
  }
}

/** The messages of the ledger for a UI message. A step begins where its predecessor has something for a model. */
function inputsOf(message: UiJson): SavedInput[] {
  const steps = [new Step(message, 0)]
  const isSingle = message.role !== 'assistant'
  for (const part of message.parts) {
    const last = steps.at(-1)
    if (!isSingle && part.type === 'step-start' && last?.isEmpty === false) steps.push(new Step(message, steps.length))
    steps.at(-1)?.take(part)
  }
  return steps.flatMap((step) => step.messages())
}

/** What the AI SDK has in addition to a message of the chat API, as `toLedger` records it. */
const extraOf = ({ extra }: Recorded): Fields => fieldsOf(fieldsOf(extra)['ai_sdk'])

export const attributeOf = ({ attributes }: Recorded): UiAttribute | undefined =>
  attributeSchema.safeParse(attributes?.['uiMessage']).data

const partsOf = ({ content }: Recorded): readonly MessagePart[] =>
  typeof content === 'string' ? (content === '' ? [] : [{ type: 'text', text: content }]) : (content ?? [])

const contentText = (message: Recorded): string =>
  partsOf(message)
    .map(({ text }) => textOf(text) ?? '')
    .join('\n')

/** The fields of a tool's part that its result has. */
function resultFields(result: Recorded | undefined): Fields {
  if (result === undefined) return { state: 'input-available' }
  const output = fieldsOf(extraOf(result)['output'])
  const text = contentText(result)
  const type = result.attributes?.['isError'] === true ? 'error-text' : (textOf(output['type']) ?? 'text')
  const state = stateBy({ type })
  const { hasNoOutput, ...fields } = attributeOf(result)?.result ?? {}
  const metadata = extraOf(result)['providerOptions']
  const value = type === 'json' ? (parseJson(text) ?? null) : text
  return {
    state,
    ...(state === 'output-error' ? { errorText: text } : {}),
    ...(state === 'output-available' && hasNoOutput !== true ? { output: value } : {}),
    ...fields,
    ...(metadata === undefined ? {} : { resultProviderMetadata: metadata }),
  }
}

/** A file of the chat API as a part of the user interface. */
function filePart(part: MessagePart): SdkPart | undefined {
  const url = urlOf(part)
  if (url === undefined) return undefined
  const { file, part: sdkPart } = fieldsOf(part)
  const filename = textOf(fieldsOf(file)['filename'])
  const mediaType =
    /^data:([^;,]+)/u.exec(url)?.[1] ??
    textOf(fieldsOf(sdkPart)['mediaType']) ??
    (part.type === 'image_url' ? 'image' : 'application/octet-stream')
  return { type: 'file', mediaType, url, ...(filename === undefined ? {} : { filename }) }
}

/** The parts of a message that was not saved as a UI message. */
function defaultParts(message: Recorded): StoredPart[] {
  const content = partsOf(message).map((part, at): StoredPart => {
    if (part.type === 'text' || part.type === 'reasoning') return { ui: { type: part.type }, at }
    return { ui: filePart(part) ?? { type: 'data-ledger-part', data: part } }
  })
  const calls = (message.toolCalls ?? []).map(({ id, function: named, custom }): StoredPart => ({
    ui: { type: 'dynamic-tool', toolName: named?.name ?? textOf(fieldsOf(custom)['name']) ?? '', toolCallId: id },
    call: id,
  }))
  return [...(message.role === 'assistant' ? [{ ui: { type: 'step-start' } }] : []), ...content, ...calls]
}

/** A stored part with the fields that the messages of the ledger have. */
function restoredPart({ ui, at, call }: StoredPart, message: Recorded, result: Recorded | undefined): SdkPart {
  const extra = extraOf(message)
  if (at !== undefined) {
    const part = partsOf(message)[at]
    const metadata = fieldsOf(fieldsOf(extra['parts'])[String(at)])['providerOptions']
    return {
      ...(ui.type === 'file' ? { url: urlOf(part) } : { text: textOf(part?.['text']) ?? '' }),
      ...ui,
      ...(metadata === undefined ? {} : { providerMetadata: metadata }),
    }
  }
  if (call === undefined) return ui
  const calls = message.toolCalls ?? []
  const index = calls.findIndex(({ id }) => id === call)
  const { function: named, custom } = fieldsOf(calls[index])
  const metadata = fieldsOf(fieldsOf(extra['ofCalls'])[String(index)])['providerOptions']
  return {
    input: inputOf(textOf(fieldsOf(named)['arguments']) ?? textOf(fieldsOf(custom)['input']) ?? ''),
    ...resultFields(result),
    ...ui,
    ...(metadata === undefined ? {} : { callProviderMetadata: metadata }),
  }
}

/** A recorded message with the tool results after it. */
interface WithResults {
  readonly message: Recorded & { readonly role: Exclude<Recorded['role'], 'tool'> }
  readonly results: Recorded[]
}

function withResults(recorded: readonly Recorded[]): WithResults[] {
  const list: WithResults[] = []
  for (const message of recorded) {
    const { role } = message
    if (role === 'tool') list.at(-1)?.results.push(message)
    else list.push({ message: { ...message, role }, results: [] })
  }
  return list
}

/** The UI messages of recorded messages: a new one for each id, or for an answer that was not saved as one. */
function uiMessagesOf(recorded: readonly Recorded[]): UiJson[] {
  const list: { id: string; role: UiJson['role']; parts: SdkPart[] }[] = []
  let before: Recorded | undefined
  for (const { message, results } of withResults(recorded)) {
    const attribute = attributeOf(message)
    const role = message.role === 'developer' ? 'system' : message.role
    const last = list.at(-1)
    const goesOn =
      attribute === undefined
        ? role === 'assistant' && before?.role === 'assistant' && attributeOf(before) === undefined
        : before !== undefined && attributeOf(before)?.id === attribute.id
    const parts = (attribute?.parts ?? defaultParts(message)).map((stored) =>
      restoredPart(
        stored,
        message,
        results.find(({ toolCallId }) => toolCallId === stored.call),
      ),
    )
    if (goesOn && last !== undefined) last.parts.push(...parts)
    else list.push({ ...attribute?.fields, id: attribute?.id ?? message.messageId, role, parts })
    before = message
  }
  return list
}

/** The recorded messages that were not withdrawn, in order; also those that a compaction removed from the context. */
async function recordedIn(ledger: Pick<Ledger, 'log'>, conversationId: string): Promise<Recorded[]> {
  const messages = new Map<string, Recorded>()
  try {
    for await (const event of ledger.log(conversationId)) {
      if (event.type === 'MessageAppended') messages.set(event.data.messageId, event.data)
      else if (event.type === 'MessagesWithdrawn')
        for (const { messageId } of event.data.messages) messages.delete(messageId)
    }
  } catch (error) {
    if (!isLedgerError(error, 'NoSuchConversation')) throw error
  }
  return [...messages.values()]
}

/**
 * Loads a conversation as UI messages, complete, also what compactions removed from the context. Messages that were not
 * saved with `saveUIMessages` are converted: consecutive answers and their tool results are one UI message. Empty if there
 * is no such conversation.
 */
export async function loadUIMessages<Message extends UIMessage = UIMessage>(
  ledger: Pick<Ledger, 'log'>,
  conversationId: string,
): Promise<Message[]> {
  const messages = await recordedIn(ledger, checkConversationId(conversationId))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the caller names the type that it saved
  return uiMessagesOf(messages) as unknown as Message[]
}

/** The messages of the ledger for UI messages, which are checked first. */
export function inputsOfList(messages: readonly UIMessage[]): SavedInput[] {
  const parsed = listSchema.safeParse(toJson('messages', messages))
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const field = ['messages', ...(issue?.path ?? [])].map(String).join('.')
    throw problem({ kind: 'BadInput', field, detail: issueSentence(issue) })
  }
  return parsed.data.flatMap(inputsOf)
}
