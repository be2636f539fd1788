/**
 * Strict checkers of the session files of five programs, written from the programs' own sources and documents, and from
 * files that they wrote. A field that a program does not write is an error. `problemsIn` returns what is wrong.
 */
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'

const iso = z.iso.datetime()
const uuid = z.uuid()
/** APIs reject a text of white space. */
const words = z.string().regex(/\S/u)
const text = z.strictObject({ type: z.literal('text'), text: words })
const base64 = z.base64().min(1)
const anyObject = z.record(z.string(), z.unknown())
const zero = z.literal(0)

/** The ids of calls and of results, in order of appearance. */
interface CallIds {
  readonly calls: readonly string[]
  readonly results: readonly string[]
}

/** Each call has exactly one result, and each result its call. */
function pairingProblems({ calls, results }: CallIds): string[] {
  const doubled = calls.filter((id, at) => calls.indexOf(id) !== at)
  return [
    ...doubled.map((id) => `call ${id} is there twice`),
    ...(calls.toSorted().join() === results.toSorted().join() ? [] : ['calls and results do not pair']),
    ...calls.filter((id) => !/^[\w-]{1,64}$/u.test(id)).map((id) => `${id} is no id of a call`),
  ]
}

const lines = (content: string): unknown[] =>
  content
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)

/** Parses each record; returns the records and what is wrong. */
function records<Schema extends z.ZodType>(
  values: readonly unknown[],
  schema: Schema,
): { readonly found: readonly z.output<Schema>[]; readonly problems: readonly string[] } {
  const parsed = values.map((value) => schema.safeParse(value))
  return {
    found: parsed.flatMap(({ data }) => (data === undefined ? [] : [data])),
    problems: parsed.flatMap(({ error }, at) =>
      error === undefined ? [] : [`record ${String(at)}: ${error.message}`],
    ),
  }
}

/** Each record names the one before it as its parent. */
const chainProblems = (ids: readonly string[], parents: readonly (string | null)[]): string[] => [
  ...(new Set(ids).size === ids.length ? [] : ['an id is there twice']),
  ...parents.flatMap((parent, at) =>
    parent === (ids[at - 1] ?? null) ? [] : [`record ${String(at)} has another parent`],
  ),
]

// Claude Code

const claudeImage = z.strictObject({
  type: z.literal('image'),
  source: z.strictObject({
    type: z.literal('base64'),
    media_type: z.enum(['image/png', 'image/jpeg', 'image/gif', 'image/webp']),
    data: base64,
  }),
})
const toolUse = z.strictObject({
  type: z.literal('tool_use'),
  id: z.string(),
  name: z.string().min(1),
  input: anyObject,
})
const toolResult = z.strictObject({
  type: z.literal('tool_result'),
  tool_use_id: z.string(),
  content: z.union([z.string(), z.array(z.union([text, claudeImage])).min(1)]),
  is_error: z.literal(true).optional(),
})
const claudeEnvelope = {
  parentUuid: uuid.nullable(),
  isSidechain: z.literal(false),
  userType: z.literal('external'),
  cwd: z.string().startsWith('/'),
  sessionId: uuid,
  version: z.string().regex(/^\d+\.\d+\.\d+$/u),
  gitBranch: z.string(),
  uuid,
  timestamp: iso,
}
const claudeUser = z.strictObject({
  ...claudeEnvelope,
  type: z.literal('user'),
  message: z.strictObject({
    role: z.literal('user'),
    // A result has a message of its own.
    content: z.union([words, z.tuple([toolResult]), z.array(z.union([text, claudeImage])).min(1)]),
  }),
  isCompactSummary: z.literal(true).optional(),
  isVisibleInTranscriptOnly: z.literal(true).optional(),
  sourceToolAssistantUUID: uuid.optional(),
})
const claudeAssistant = z.strictObject({
  ...claudeEnvelope,
  type: z.literal('assistant'),
  message: z.strictObject({
    id: z.string().startsWith('msg_'),
    type: z.literal('message'),
    role: z.literal('assistant'),
    model: z.string().min(1),
    content: z.array(z.union([text, toolUse])).min(1),
    stop_reason: z.enum(['end_turn', 'tool_use']),
    stop_sequence: z.null(),
    usage: z.strictObject({
      input_tokens: zero,
      output_tokens: zero,
      cache_creation_input_tokens: zero,
      cache_read_input_tokens: zero,
    }),
  }),
})
const claudeBoundary = z.strictObject({
  ...claudeEnvelope,
  type: z.literal('system'),
  subtype: z.literal('compact_boundary'),
  content: z.string(),
  level: z.literal('info'),
  isMeta: z.literal(false),
  compactMetadata: z.strictObject({ trigger: z.enum(['manual', 'auto']), preTokens: z.number() }),
})
const claudeTitle = z.strictObject({
  type: z.literal('custom-title'),
  customTitle: z.string().min(1),
  sessionId: uuid,
})

function claudeCode(content: string): string[] {
  const { found, problems } = records(
    lines(content),
    z.union([claudeUser, claudeAssistant, claudeBoundary, claudeTitle]),
  )
  const chained = found.filter((record) => record.type !== 'custom-title')
  const blocks: { type: string; id?: string; tool_use_id?: string }[] = chained.flatMap((record) =>
    record.type === 'system' || typeof record.message.content === 'string' ? [] : [...record.message.content],
  )
  const calls = blocks.flatMap(({ id }) => id ?? [])
  const results = blocks.flatMap(({ tool_use_id: id }) => id ?? [])
  const boundary = chained.findIndex(({ type }) => type === 'system')
  const after = chained[boundary + 1]
  return [
    ...problems,
    ...chainProblems(
      chained.map((record) => record.uuid),
      chained.map((record) => record.parentUuid),
    ),
    ...pairingProblems({ calls, results }),
    ...(new Set(found.map((record) => record.sessionId)).size === 1 ? [] : ['several sessions']),
    ...(boundary > 0 ? ['the boundary is not the first record'] : []),
    ...(boundary === 0 && !(after?.type === 'user' && after.isCompactSummary === true) ? ['no summary follows'] : []),
  ]
}

// Codex

const inputText = z.strictObject({ type: z.literal('input_text'), text: words })
const inputImage = z.strictObject({ type: z.literal('input_image'), image_url: z.string().startsWith('data:image/') })
const userMessage = z.strictObject({
  type: z.literal('message'),
  role: z.literal('user'),
  content: z.array(z.union([inputText, inputImage])).min(1),
})
const jsonObject = z.string().refine((value) => anyObject.safeParse(JSON.parse(value)).success, 'is no object')
const codexItem = z.union([
  userMessage,
  z.strictObject({
    type: z.literal('message'),
    role: z.literal('assistant'),
    content: z.array(z.strictObject({ type: z.literal('output_text'), text: words })).min(1),
  }),
  z.strictObject({
    type: z.literal('function_call'),
    name: z.string().min(1),
    arguments: jsonObject,
    call_id: z.string(),
  }),
  z.strictObject({
    type: z.literal('custom_tool_call'),
    status: z.literal('completed'),
    name: z.string().min(1),
    input: z.string(),
    call_id: z.string(),
  }),
  z.strictObject({
    type: z.enum(['function_call_output', 'custom_tool_call_output']),
    call_id: z.string(),
    output: z.union([z.string(), z.array(z.union([inputText, inputImage])).min(1)]),
  }),
])
const codexLine = <Type extends string, Payload extends z.ZodType>(type: Type, payload: Payload) =>
  z.strictObject({ timestamp: iso, type: z.literal(type), payload })
const codexRecord = z.union([
  codexLine(
    'session_meta',
    z.strictObject({
      id: uuid,
      timestamp: iso,
      cwd: z.string().startsWith('/'),
      originator: z.string(),
      cli_version: z.string(),
      source: z.literal('cli'),
    }),
  ),
  codexLine(
    'compacted',
    z.strictObject({ message: z.string().min(1), replacement_history: z.array(codexItem).min(1) }),
  ),
  codexLine('response_item', codexItem),
  codexLine(
    'event_msg',
    z.union([
      z.strictObject({
        type: z.literal('user_message'),
        message: z.string(),
        images: z.tuple([]),
        local_images: z.tuple([]),
        text_elements: z.tuple([]),
      }),
      z.strictObject({ type: z.literal('agent_message'), message: z.string().min(1) }),
      z.strictObject({ type: z.literal('thread_name_updated'), thread_id: uuid, thread_name: z.string() }),
    ]),
  ),
])

function codex(content: string): string[] {
  const { found, problems } = records(lines(content), codexRecord)
  const items = found.flatMap((line) => (line.type === 'response_item' ? [line.payload] : []))
  const calls = items.flatMap((item) =>
    item.type === 'function_call' || item.type === 'custom_tool_call' ? [item.call_id] : [],
  )
  const results = items.flatMap((item) => ('output' in item ? [item.call_id] : []))
  const types = found.map(({ type }) => type)
  return [
    ...problems,
    ...pairingProblems({ calls, results }),
    ...(types.indexOf('session_meta') === 0 && types.lastIndexOf('session_meta') === 0 ? [] : ['no single header']),
    ...(types.filter((type) => type === 'compacted').length > 1 ? ['several compactions'] : []),
    ...found.flatMap((line, at) => {
      if (line.type !== 'compacted') return []
      const before = found.slice(0, at).flatMap((each) => (each.type === 'response_item' ? [each.payload] : []))
      const context = line.payload.replacement_history.slice(0, -1)
      return isDeepStrictEqual(context, before) ? [] : ['a compaction does not keep the items before it']
    }),
    ...(found.some(({ payload }) => 'type' in payload && payload.type === 'user_message')
      ? []
      : ['Codex does not list it: it has no event of a user']),
  ]
}

// pi

const piParts = z.array(
  z.union([
    text,
    z.strictObject({ type: z.literal('image'), data: base64, mimeType: z.string().startsWith('image/') }),
  ]),
)
const piMessage = z.union([
  z.strictObject({ role: z.literal('user'), content: piParts.min(1), timestamp: z.int() }),
  z.strictObject({
    role: z.literal('assistant'),
    content: z
      .array(
        z.union([
          text,
          z.strictObject({
            type: z.literal('toolCall'),
            id: z.string(),
            name: z.string().min(1),
            arguments: anyObject,
          }),
        ]),
      )
      .min(1),
    api: z.string(),
    provider: z.string(),
    model: z.string(),
    usage: z.strictObject({
      input: zero,
      output: zero,
      cacheRead: zero,
      cacheWrite: zero,
      totalTokens: zero,
      cost: z.strictObject({ input: zero, output: zero, cacheRead: zero, cacheWrite: zero, total: zero }),
    }),
    stopReason: z.enum(['stop', 'toolUse']),
    timestamp: z.int(),
  }),
  z.strictObject({
    role: z.literal('toolResult'),
    toolCallId: z.string(),
    toolName: z.string(),
    content: piParts,
    isError: z.boolean(),
    timestamp: z.int(),
  }),
])
const piBase = { id: z.string().regex(/^[0-9a-f]{8}$/u), parentId: z.string().nullable(), timestamp: iso }
const piEntry = z.union([
  z.strictObject({
    type: z.literal('session'),
    version: z.literal(3),
    id: uuid,
    timestamp: iso,
    cwd: z.string().startsWith('/'),
  }),
  z.strictObject({ type: z.literal('session_info'), ...piBase, name: z.string().min(1) }),
  z.strictObject({
    type: z.literal('compaction'),
    ...piBase,
    summary: z.string().min(1),
    firstKeptEntryId: z.string(),
    tokensBefore: z.number(),
    fromHook: z.literal(true),
  }),
  z.strictObject({ type: z.literal('message'), ...piBase, message: piMessage }),
])

function pi(content: string): string[] {
  const { found, problems } = records(lines(content), piEntry)
  const entries = found.filter((entry) => entry.type !== 'session')
  const messages = entries.flatMap((entry) => (entry.type === 'message' ? [entry.message] : []))
  const calls = messages.flatMap((message) =>
    message.role === 'assistant' ? message.content.flatMap((part) => (part.type === 'toolCall' ? [part.id] : [])) : [],
  )
  const results = messages.flatMap((message) => (message.role === 'toolResult' ? [message.toolCallId] : []))
  return [
    ...problems,
    ...(found[0]?.type === 'session' ? [] : ['no header']),
    ...chainProblems(
      entries.map(({ id }) => id),
      entries.map(({ parentId }) => parentId),
    ),
    ...pairingProblems({ calls, results }),
  ]
}

// opencode

const openId = (prefix: string): z.ZodString =>
  z.string().regex(new RegExp(`^${prefix}_[0-9a-f]{12}[0-9A-Za-z]{14}$`, 'u'))
const millis = z.int().positive()
const partBase = { id: openId('prt'), sessionID: openId('ses'), messageID: openId('msg') }
const openTokens = z.strictObject({
  input: zero,
  output: zero,
  reasoning: zero,
  cache: z.strictObject({ read: zero, write: zero }),
})
const filePart = z.strictObject({
  ...partBase,
  type: z.literal('file'),
  mime: z.string().startsWith('image/'),
  url: z.string().startsWith('data:image/'),
})
const span = z.strictObject({ start: millis, end: millis })
const openPart = z.union([
  z.strictObject({ ...partBase, type: z.literal('text'), text: words, synthetic: z.boolean().optional() }),
  filePart,
  z.strictObject({ ...partBase, type: z.literal('compaction'), auto: z.boolean() }),
  z.strictObject({ ...partBase, type: z.literal('step-start') }),
  z.strictObject({
    ...partBase,
    type: z.literal('step-finish'),
    reason: z.string(),
    cost: zero,
    tokens: openTokens,
  }),
  z.strictObject({
    ...partBase,
    type: z.literal('tool'),
    callID: z.string(),
    tool: z.string().min(1),
    state: z.union([
      z.strictObject({
        status: z.literal('completed'),
        input: anyObject,
        output: z.string(),
        title: z.string(),
        metadata: z.strictObject({}),
        time: span,
        attachments: z.array(filePart).min(1).optional(),
      }),
      z.strictObject({ status: z.literal('error'), input: anyObject, error: z.string(), time: span }),
    ]),
  }),
])
const openMessage = z.strictObject({
  info: z.union([
    z.strictObject({
      id: openId('msg'),
      sessionID: openId('ses'),
      role: z.literal('user'),
      time: z.strictObject({ created: millis }),
      agent: z.string(),
      model: z.strictObject({ providerID: z.string(), modelID: z.string() }),
    }),
    z.strictObject({
      id: openId('msg'),
      sessionID: openId('ses'),
      role: z.literal('assistant'),
      parentID: openId('msg'),
      mode: z.string(),
      agent: z.string(),
      path: z.strictObject({ cwd: z.string().startsWith('/'), root: z.string().startsWith('/') }),
      cost: zero,
      tokens: openTokens,
      modelID: z.string(),
      providerID: z.string(),
      time: z.strictObject({ created: millis, completed: millis }),
      finish: z.enum(['stop', 'tool-calls']),
      summary: z.literal(true).optional(),
    }),
  ]),
  parts: z.array(openPart).min(1),
})
const openExport = z.strictObject({
  info: z.strictObject({
    id: openId('ses'),
    slug: z.string().min(1),
    projectID: z.string(),
    directory: z.string().startsWith('/'),
    title: z.string().min(1),
    version: z.string(),
    time: z.strictObject({ created: millis, updated: millis }),
  }),
  messages: z.array(openMessage),
})

function opencode(content: string): string[] {
  const { found, problems } = records([JSON.parse(content)], openExport)
  const messages = found.flatMap((each) => each.messages)
  const ids = messages.flatMap(({ info, parts }) => [info.id, ...parts.map(({ id }) => id)])
  const bodies = ids.map((id) => id.slice(4, 16))
  const users = new Set(messages.flatMap(({ info }) => (info.role === 'user' ? [info.id] : [])))
  const calls = messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'tool' ? [part.callID] : [])))
  return [
    ...problems,
    ...pairingProblems({ calls, results: calls }),
    ...(bodies.every((body, at) => at === 0 || body > (bodies[at - 1] ?? '')) ? [] : ['ids do not ascend']),
    ...messages.flatMap(({ info }) =>
      info.role === 'assistant' && !users.has(info.parentID) ? [`${info.id} answers no message of the user`] : [],
    ),
    ...messages.flatMap(({ info, parts }) =>
      parts.every(({ messageID, sessionID }) => messageID === info.id && sessionID === info.sessionID)
        ? []
        : [`${info.id} has a part of another message`],
    ),
  ]
}

// Gemini CLI

const geminiText = z.strictObject({ text: words })
const inlineData = z.strictObject({
  inlineData: z.strictObject({ mimeType: z.string().startsWith('image/'), data: base64 }),
})
const functionResponse = z.strictObject({
  functionResponse: z.strictObject({
    id: z.string(),
    name: z.string(),
    response: z.union([z.strictObject({ output: z.string() }), z.strictObject({ error: z.string() })]),
  }),
})
const geminiCall = z.strictObject({
  id: z.string(),
  name: z.string().min(1),
  args: anyObject,
  result: z.tuple([functionResponse], inlineData),
  status: z.enum(['success', 'error']),
  timestamp: iso,
})
const geminiRecord = z.union([
  z.strictObject({
    sessionId: uuid,
    projectHash: z.string().regex(/^[0-9a-f]{64}$/u),
    startTime: iso,
    lastUpdated: iso,
    kind: z.literal('main'),
    summary: z.string().optional(),
    // Our own: Gemini CLI keeps fields that it does not know.
    contextLedger: z.strictObject({ handover: uuid }).optional(),
  }),
  z.strictObject({
    id: uuid,
    timestamp: iso,
    type: z.literal('user'),
    content: z.array(z.union([geminiText, inlineData])).min(1),
  }),
  z.strictObject({
    id: uuid,
    timestamp: iso,
    type: z.literal('gemini'),
    content: z.string(),
    thoughts: z.tuple([]),
    tokens: z.null(),
    model: z.string().min(1),
    toolCalls: z.array(geminiCall).min(1).optional(),
  }),
])

function gemini(content: string): string[] {
  const { found, problems } = records(lines(content), geminiRecord)
  const calls = found.flatMap((record) => ('toolCalls' in record ? (record.toolCalls ?? []) : []))
  const empty = found.filter(
    (record) => 'type' in record && record.type === 'gemini' && record.content === '' && record.toolCalls === undefined,
  )
  return [
    ...problems,
    ...('sessionId' in (found[0] ?? {}) ? [] : ['no header']),
    ...pairingProblems({
      calls: calls.map(({ id }) => id),
      results: calls.flatMap(({ result }) => [result[0].functionResponse.id]),
    }),
    ...empty.map(() => 'an answer is empty'),
  ]
}

/** The checker of each program. */
export const sessionFormats: Readonly<Record<string, (content: string) => readonly string[]>> = {
  'claude-code': claudeCode,
  codex,
  opencode,
  pi,
  gemini,
}
