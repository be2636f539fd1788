/**
 * Conversations (now, or at an earlier point), their compaction cycles and their messages as resources. Lists and
 * completions contain only conversations within the binding.
 */
import {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  ResourceTemplate,
  UriTemplate,
  type McpServer,
  type ReadResourceResult,
  type Variables,
} from '@modelcontextprotocol/server'
import { toChatMessage } from '../../domain/values/message.js'
import { isLedgerError } from '../../lib/ledger-error.js'
import { bad } from '../../library/options.js'
import { faultOf, problem, statusOf } from '../../library/problem.js'
import { messages as messagesCall } from '../../schema/calls/messages.js'
import { asText, QUOTATION, quoteMessage, CharacterBudget, maxTextCharacters, type McpLimits } from './quotation.js'
import { errorText, type Host, type ToolLedger } from './tool.js'
import { contextAt, conversationAt } from './tools/conversation-at.js'
import { explainCompaction, quoteCycle } from './tools/explain-compaction.js'

/** The calls of the ledger that they make. */
export const resourceCalls = [messagesCall, ...conversationAt.calls, ...explainCompaction.calls] as const
type ResourceHost = Host<(typeof resourceCalls)[number]['name']>

const JSON_TYPE = 'application/json'
const ROOT = 'ledger://conversations/'
/** Conversations that are searched for a completion; the protocol returns the first hundred to a client. */
const COMPLETIONS = 1_000

/** An id as a segment of a URI. */
const encodeId = (id: string): string => encodeURIComponent(id)

/**
 * A URI template that decodes its segments and has an optional query. (The template of the library does not decode `%20`,
 * and does not match a URI without the query.)
 */
class Template extends UriTemplate {
  private readonly templateSegments: readonly string[]
  private readonly queryNames: readonly string[]

  constructor(template: string) {
    super(template)
    this.queryNames = /\{\?(?<names>[^}]*)\}/u.exec(template)?.groups?.['names']?.split(',') ?? []
    this.templateSegments = template
      .slice(ROOT.length)
      .replace(/\{\?.*$/u, '')
      .split('/')
  }

  /** The parameters of a query are optional. */
  override match(uri: string): Variables | null {
    if (!uri.startsWith(ROOT)) return null
    const [path = '', query = ''] = uri.slice(ROOT.length).split('?', 2)
    const segments = path.split('/')
    if (segments.length !== this.templateSegments.length) return null
    const found: Variables = {}
    for (const [at, segment] of this.templateSegments.entries()) {
      const value = decodeSegment(segments[at] ?? '')
      if (value === undefined || value === '') return null
      if (!segment.startsWith('{')) {
        if (value !== segment) return null
      } else found[segment.slice(1, -1)] = value
    }
    for (const [name, value] of new URLSearchParams(query))
      if (this.queryNames.includes(name) && value !== '') found[name] = value
    return found
  }
}

function decodeSegment(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

const textOf = (variables: Variables, name: string): string => {
  const value = variables[name]
  return typeof value === 'string' ? value : ''
}

/** A complete message as it was recorded, truncated if it exceeds the limit of a resource. */
async function completeMessage(
  ledger: ToolLedger<'messages'>,
  conversationId: string,
  messageId: string,
  { resourceCharacters }: Required<McpLimits>,
): Promise<unknown> {
  // A message is live at its own revision, even if it was compacted or withdrawn later.
  const { messages } = await ledger.messages(conversationId, { at: `message:${messageId}` })
  const found = messages.find((message) => message.messageId === messageId)
  if (found === undefined) throw problem({ kind: 'NoSuchMessage', conversationId, messageId, nearest: undefined })
  const { revision, createdAt, tokens, attributes } = found
  const about = { quotation: QUOTATION, conversationId, messageId, revision: revision.toString(), createdAt, tokens }
  const message = toChatMessage(found)
  const complete = { ...about, ...(attributes === undefined ? {} : { attributes }), message }
  return new CharacterBudget(resourceCharacters).take(complete)
    ? complete
    : { ...about, message: quoteMessage(message, messageId, maxTextCharacters(resourceCharacters)) }
}

/** Whether the error means that the resource does not exist: no such conversation, message or batch, or no state at that time. */
const isNotFound = (error: unknown): boolean =>
  statusOf(error) === 404 || isLedgerError(error, 'BeforeFirstEvent', 'AfterNow')

/** What the resources share: reading with failures as protocol errors, and completions. */
class ResourceHelper {
  readonly limit: { readonly text: number; readonly answer: number }

  constructor(readonly host: ResourceHost) {
    const { resourceCharacters } = host.limits
    this.limit = { text: maxTextCharacters(resourceCharacters), answer: resourceCharacters }
  }

  /** Reads a resource of a conversation within the binding. Failures become protocol errors. */
  async read(
    uri: URL,
    variables: Variables,
    make: (conversationId: string) => Promise<unknown>,
  ): Promise<ReadResourceResult> {
    try {
      const conversationId = await this.host.binding.requireConversation(textOf(variables, 'id'))
      return { contents: [{ uri: uri.href, mimeType: JSON_TYPE, text: asText(await make(conversationId)) }] }
    } catch (error) {
      const sentence = errorText(error, this.host.onProblem)
      if (isNotFound(error)) throw new ResourceNotFoundError(uri.href, sentence)
      throw new ProtocolError(
        faultOf(error).fault === 'input' ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError,
        sentence,
      )
    }
  }

  /** The ids for a completion; empty on errors, because a completion is optional. */
  async suggestions(find: () => Promise<readonly string[]>): Promise<string[]> {
    try {
      return [...(await find())]
    } catch (error) {
      if (faultOf(error).fault === 'bug') this.host.onProblem(error)
      return []
    }
  }

  /** Completes the id of a conversation. */
  readonly id = (value: string): Promise<string[]> =>
    this.suggestions(async () => {
      const found = await this.host.binding.find(value, COMPLETIONS)
      return found.map(({ conversationId }) => conversationId)
    })

  async conversationIn(context: { readonly arguments?: Record<string, string> } | undefined): Promise<string> {
    const { binding } = this.host
    return await binding.requireConversation(context?.arguments?.['id'] ?? binding.conversationId ?? '')
  }
}

/** Adds the resources to a server. */
export function registerResources(server: McpServer, host: ResourceHost): void {
  const helper = new ResourceHelper(host)
  registerConversation(server, helper)
  registerCycle(server, helper)
  registerMessage(server, helper)
}

function registerConversation(server: McpServer, helper: ResourceHelper): void {
  const { ledger, binding, limits, onProblem } = helper.host
  server.registerResource(
    'conversation',
    new ResourceTemplate(new Template(`${ROOT}{id}{?at,from}`), {
      async list() {
        const found = await binding.find('', limits.listed).catch((error: unknown) => {
          throw new ProtocolError(ProtocolErrorCode.InternalError, errorText(error, onProblem))
        })
        return {
          resources: found.map(({ conversationId, title, messages, compactions, lastRecordedAt }) => ({
            uri: `${ROOT}${encodeId(conversationId)}`,
            name: conversationId,
            ...(title === undefined ? {} : { title }),
            description: `${String(messages)} messages, ${String(compactions)} compactions`,
            annotations: { lastModified: lastRecordedAt },
          })),
        }
      },
      complete: { id: helper.id },
    }),
    {
      title: 'Context of a conversation',
      description:
        'The context of the model, now or with `at` at an earlier point: a revision, a time, or the id of a message. A long one comes in parts: for the next part, `at` is the `revision` of the answer and `from` its `next`',
      mimeType: JSON_TYPE,
    },
    (uri, variables) =>
      helper.read(uri, variables, (conversationId) => {
        const [at, from] = [textOf(variables, 'at'), textOf(variables, 'from')]
        if (!/^\d{0,8}$/u.test(from)) throw bad('from', 'must be the index of a message: a whole number, 0 or more')
        const query = { ...(at === '' ? {} : { at }), ...(from === '' ? {} : { from: Number(from) }) }
        return contextAt(ledger, conversationId, query, helper.limit)
      }),
  )
}

function registerCycle(server: McpServer, helper: ResourceHelper): void {
  const { ledger, binding } = helper.host
  server.registerResource(
    'cycle',
    new ResourceTemplate(new Template(`${ROOT}{id}/cycles/{n}`), {
      list: undefined,
      complete: {
        id: helper.id,
        n: (value, context) =>
          helper.suggestions(async () => {
            const conversationId = await helper.conversationIn(context)
            const found = (await binding.find(conversationId, COMPLETIONS)).find(
              (each) => each.conversationId === conversationId,
            )
            return Array.from({ length: found?.compactions ?? 0 }, (_none, at) => String(at + 1)).filter((number) =>
              number.startsWith(value),
            )
          }),
      },
    }),
    {
      title: 'Compaction cycle',
      description: 'What a compaction did: tokens before and after, messages removed, summaries added',
      mimeType: JSON_TYPE,
    },
    (uri, variables) =>
      helper.read(uri, variables, (conversationId) =>
        quoteCycle(ledger, conversationId, Number(textOf(variables, 'n')), helper.limit),
      ),
  )
}

function registerMessage(server: McpServer, helper: ResourceHelper): void {
  const { ledger, limits } = helper.host
  server.registerResource(
    'message',
    new ResourceTemplate(new Template(`${ROOT}{id}/messages/{messageId}`), {
      list: undefined,
      complete: {
        id: helper.id,
        messageId: (value, context) =>
          helper.suggestions(async () => {
            const { messages } = await ledger.messages(await helper.conversationIn(context))
            return messages.map(({ messageId }) => messageId).filter((each) => each.startsWith(value))
          }),
      },
    }),
    {
      title: 'Message',
      description: 'A complete message as it was recorded, even if it was compacted or withdrawn later',
      mimeType: JSON_TYPE,
    },
    (uri, variables) =>
      helper.read(uri, variables, (conversationId) =>
        completeMessage(ledger, conversationId, textOf(variables, 'messageId'), limits),
      ),
  )
}
