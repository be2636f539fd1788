/**
 * What a ledger holds, as resources: conversations (now, or at a moment), their compaction cycles, their messages. They
 * are listed and completed within what the server is bound to.
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
import { toChatMessage } from '../domain/values/message.js'
import { faultOf, kindOf, problem } from '../library/problem.js'
import { asText, QUOTATION, quoteMessage, Room, textFitting, type McpLimits } from './quotation.js'
import { refusal, type Host, type McpLedger } from './tool.js'
import { contextAt } from './tools/conversation-at.js'
import { cycleTold } from './tools/explain-compaction.js'

const JSON_TYPE = 'application/json'
const ROOT = 'ledger://conversations/'
/** Conversations that are looked at for a completion; the protocol gives a client the first hundred. */
const COMPLETIONS = 1_000

/** An id as a part of an address. */
const part = (id: string): string => encodeURIComponent(id)

/**
 * A template whose parts are decoded, and whose query may be missing. (The library's own leaves `%20` as it is, and
 * finds an address without its query nowhere.)
 */
class Template extends UriTemplate {
  private readonly parts_: readonly string[]

  constructor(template: string) {
    super(template)
    this.parts_ = template
      .slice(ROOT.length)
      .replace(/\{\?.*$/u, '')
      .split('/')
  }

  override match(uri: string): Variables | null {
    if (!uri.startsWith(ROOT)) return null
    const [path = '', query = ''] = uri.slice(ROOT.length).split('?', 2)
    const given = path.split('/')
    if (given.length !== this.parts_.length) return null
    const found: Variables = {}
    for (const [at, wanted] of this.parts_.entries()) {
      const value = decoded(given[at] ?? '')
      if (value === undefined || value === '') return null
      if (!wanted.startsWith('{')) {
        if (value !== wanted) return null
      } else found[wanted.slice(1, -1)] = value
    }
    const at = new URLSearchParams(query).get('at')
    return at === null || at === '' ? found : { ...found, at }
  }
}

function decoded(text: string): string | undefined {
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

/** Kinds of failures that say that something is not there. */
const NOT_THERE = /^(?:NoSuch|CycleNotRecorded|BeforeFirstEvent|AfterNow)/u

/** A message whole, as it was recorded; cut where it is larger than a resource may be. */
async function wholeMessage(
  ledger: Pick<McpLedger, 'messages'>,
  conversationId: string,
  messageId: string,
  { resourceCharacters }: Required<McpLimits>,
): Promise<unknown> {
  // Right behind it, a message is live, whatever became of it since.
  const { messages } = await ledger.messages(conversationId, { at: `message:${messageId}` })
  const found = messages.find((message) => message.messageId === messageId)
  if (found === undefined) throw problem({ kind: 'NoSuchMessage', conversationId, messageId, nearest: undefined })
  const { revision, createdAt, tokens, attributes } = found
  const about = { quotation: QUOTATION, conversationId, messageId, revision: revision.toString(), createdAt, tokens }
  const message = toChatMessage(found)
  const whole = { ...about, ...(attributes === undefined ? {} : { attributes }), message }
  return new Room(resourceCharacters).takes(whole)
    ? whole
    : { ...about, message: quoteMessage(message, messageId, textFitting(resourceCharacters)) }
}

/** Adds the resources to a server. */
export function registerResources(server: McpServer, host: Host): void {
  const { ledger, binding, limits, onProblem } = host
  const most = { text: textFitting(limits.resourceCharacters), answer: limits.resourceCharacters }

  /** Reads within what the server is bound to; what cannot be read is an error of the protocol. */
  async function read(
    uri: URL,
    variables: Variables,
    make: (conversationId: string) => Promise<unknown>,
  ): Promise<ReadResourceResult> {
    try {
      const conversationId = await binding.within(textOf(variables, 'id'))
      return { contents: [{ uri: uri.href, mimeType: JSON_TYPE, text: asText(await make(conversationId)) }] }
    } catch (error) {
      const sentence = refusal(error, onProblem)
      if (NOT_THERE.test(kindOf(error))) throw new ResourceNotFoundError(uri.href, sentence)
      throw new ProtocolError(
        faultOf(error).fault === 'input' ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError,
        sentence,
      )
    }
  }

  /** Ids that complete what somebody began to type; none where the ledger cannot be asked. */
  const completed = async (find: () => Promise<readonly string[]>): Promise<string[]> => {
    try {
      return [...(await find())]
    } catch (error) {
      if (faultOf(error).fault === 'bug') onProblem(error)
      return []
    }
  }

  const id = (value: string): Promise<string[]> =>
    completed(async () => {
      const found = await binding.find(value, COMPLETIONS)
      return found.map(({ conversationId }) => conversationId)
    })
  const namedIn = (context: { readonly arguments?: Record<string, string> } | undefined): Promise<string> =>
    binding.within(context?.arguments?.['id'] ?? binding.conversationId ?? '')

  server.registerResource(
    'conversation',
    new ResourceTemplate(new Template(`${ROOT}{id}{?at}`), {
      async list() {
        const found = await binding.find('', limits.listed).catch((error: unknown) => {
          throw new ProtocolError(ProtocolErrorCode.InternalError, refusal(error, onProblem))
        })
        return {
          resources: found.map(({ conversationId, messages, cycles, lastRecordedAt }) => ({
            uri: `${ROOT}${part(conversationId)}`,
            name: conversationId,
            description: `${String(messages)} messages, ${String(cycles)} compaction cycles`,
            annotations: { lastModified: lastRecordedAt },
          })),
        }
      },
      complete: { id },
    }),
    {
      title: 'Context of a conversation',
      description:
        'The context that the model had, now or with `at` at a moment: a revision, a time, or the id of a message',
      mimeType: JSON_TYPE,
    },
    (uri, variables) =>
      read(uri, variables, (conversationId) => {
        const at = textOf(variables, 'at')
        return contextAt(ledger, conversationId, at === '' ? {} : { at }, most)
      }),
  )

  server.registerResource(
    'cycle',
    new ResourceTemplate(new Template(`${ROOT}{id}/cycles/{n}`), {
      list: undefined,
      complete: {
        id,
        n: (value, context) =>
          completed(async () => {
            const conversationId = await namedIn(context)
            const found = (await binding.find(conversationId, COMPLETIONS)).find(
              (each) => each.conversationId === conversationId,
            )
            return Array.from({ length: found?.cycles ?? 0 }, (_none, at) => String(at + 1)).filter((number) =>
              number.startsWith(value),
            )
          }),
      },
    }),
    {
      title: 'Compaction cycle',
      description: 'What a compaction did: tokens before and after, the messages that left, the summaries that came',
      mimeType: JSON_TYPE,
    },
    (uri, variables) =>
      read(uri, variables, (conversationId) => cycleTold(ledger, conversationId, Number(textOf(variables, 'n')), most)),
  )

  server.registerResource(
    'message',
    new ResourceTemplate(new Template(`${ROOT}{id}/messages/{messageId}`), {
      list: undefined,
      complete: {
        id,
        messageId: (value, context) =>
          completed(async () => {
            const { messages } = await ledger.messages(await namedIn(context))
            return messages.map(({ messageId }) => messageId).filter((each) => each.startsWith(value))
          }),
      },
    }),
    {
      title: 'Message',
      description: 'A message whole, as it was recorded, whatever became of it since',
      mimeType: JSON_TYPE,
    },
    (uri, variables) =>
      read(uri, variables, (conversationId) =>
        wholeMessage(ledger, conversationId, textOf(variables, 'messageId'), limits),
      ),
  )
}
