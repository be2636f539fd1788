/** Finds the conversation of a request: by its headers, or else by the start of its message list. */
import { createHash } from 'node:crypto'
import { PROXY_SEGMENT } from '../../domain/values/session-ids.js'
import type { Api, ProxyRequest } from '../../application/model-apis/api.js'
import { programQuestion, type ProgramQuestion } from './program-questions.js'

/** The caller of a request, and the conversations that the caller may use. */
export interface Caller {
  /** Recorded as the actor of each event. Default: the actor of the ledger. */
  readonly actor?: string | undefined
  /** Id of the caller's key. Equal lists that come with two keys belong to two conversations. */
  readonly keyId?: string | undefined
  /**
   * Resolves to whether the caller may read and continue this conversation, or start it if it does not exist. The
   * recorder calls this for each conversation before it uses it, however the request identified the conversation.
   */
  mayUse(conversationId: string): Promise<boolean>
}

/** The caller of a proxy without keys: may use every conversation. */
export const ANY_CALLER: Caller = { mayUse: () => Promise.resolve(true) }

/** The program that sent a request, and the conversation that the request belongs to. */
export interface RequestIdentity {
  readonly caller: Caller
  readonly program: string
  readonly programVersion: string | undefined
  /** The ledger's id of the conversation; undefined if no header identifies it. */
  readonly conversationId: string | undefined
  /** The client named the conversation in the ledger's own header. */
  readonly isNamed: boolean
  /** The id of the conversation by the start of its list. Conversations with the same start have a suffix to it. */
  readonly listedId: string
  /** The program is a coding agent. It marks its requests and offers its tools in every turn. */
  readonly isCodingAgent: boolean
  /** Undefined for a turn of the conversation. */
  readonly question: ProgramQuestion | undefined
}

/** The header in which a client names the conversation. */
export const CONVERSATION_HEADER = 'x-context-ledger-conversation'

/** The headers in which Codex names a thread, newest first. */
const CODEX_THREAD_HEADERS = ['thread-id', 'conversation_id', 'conversation-id', 'session-id', 'session_id']
/** The headers in which opencode names a session: with its own provider, and with all others. */
const OPENCODE_SESSION_HEADERS = ['x-opencode-session', 'x-session-id', 'x-session-affinity']
const firstHeader = (headers: Headers, names: readonly string[]): string | undefined =>
  names.map((name) => headers.get(name)?.trim()).find((value) => value !== undefined && value !== '')

/** A user agent as name and version: `OpenAI/JS 7.55.0`, `claude-cli/2.1.0 (external, cli)`. */
function agentOf(headers: Headers): { readonly name: string | undefined; readonly version: string | undefined } {
  const [, name, version] = /^([\w.-]+(?:\/[A-Za-z]+)?)[/ ]v?(\d[\w.+-]*)/u.exec(headers.get('user-agent') ?? '') ?? []
  return { name: name?.toLowerCase(), version }
}

/** The prefix of the ids of conversations that no header identifies: those of one key, or those without a key. */
export const listedIdPrefix = (keyId: string | undefined): string =>
  keyId === undefined ? `${PROXY_SEGMENT}/` : `${PROXY_SEGMENT}/key-${keyId}/`

/**
 * The id by the instructions and the first user message; by the first message if that is an answer: a program restarted
 * the list with its summary. Later messages distinguish conversations with the same start.
 */
function listedIdOf(api: Api, { instructions, messages }: ProxyRequest, { keyId }: Caller): string {
  const [first] = messages
  const start =
    first?.input.role === 'assistant' ? first : (messages.find(({ input }) => input.role === 'user') ?? first)
  const parts = [...instructions.map(({ hash }) => hash), start?.hash ?? '']
  return `${listedIdPrefix(keyId)}${api.name}/${createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 20)}`
}

/** The id of the conversation by the headers of a coding agent, or by a conversation that upstream stores. */
function sessionId(
  claudeSession: string | undefined,
  claudeSubagent: string | undefined,
  codexThread: string | undefined,
  opencodeSession: string | undefined,
  { upstreamHistory }: ProxyRequest,
): string | undefined {
  if (claudeSession !== undefined)
    return `${PROXY_SEGMENT}/claude-code/${claudeSession}${claudeSubagent === undefined ? '' : `/${claudeSubagent}`}`
  if (codexThread !== undefined) return `${PROXY_SEGMENT}/codex/${codexThread}`
  if (opencodeSession !== undefined) return `${PROXY_SEGMENT}/opencode/${opencodeSession}`
  return upstreamHistory?.kind === 'conversation' ? `${PROXY_SEGMENT}/openai/${upstreamHistory.id}` : undefined
}

/** Identifies the program and the conversation of a request. */
export function identifyRequest(api: Api, request: ProxyRequest, headers: Headers, caller: Caller): RequestIdentity {
  const agent = agentOf(headers)
  const claudeSession = firstHeader(headers, ['x-claude-code-session-id'])
  const claudeSubagent = firstHeader(headers, ['x-claude-code-agent-id'])
  const isCodex = /codex/iu.test(`${headers.get('user-agent') ?? ''} ${headers.get('originator') ?? ''}`)
  const codexThread = isCodex ? firstHeader(headers, CODEX_THREAD_HEADERS) : undefined
  const isOpencode = /\bopencode\b/iu.test(headers.get('user-agent') ?? '')
  const opencodeSession = isOpencode ? firstHeader(headers, OPENCODE_SESSION_HEADERS) : undefined
  const named = firstHeader(headers, [CONVERSATION_HEADER])
  const programs = [
    ['claude-code', claudeSession],
    ['codex', codexThread],
    ['opencode', opencodeSession],
  ] as const
  const program = programs.find(([, session]) => session !== undefined)?.[0]
  return {
    caller,
    program: program ?? agent.name ?? api.name,
    programVersion: agent.version,
    conversationId: named ?? sessionId(claudeSession, claudeSubagent, codexThread, opencodeSession, request),
    isNamed: named !== undefined,
    listedId: listedIdOf(api, request, caller),
    isCodingAgent: program !== undefined,
    question: programQuestion(request, headers),
  }
}
