/** Whose conversation a request belongs to, by its headers; else by how its list begins. */
import { createHash } from 'node:crypto'
import type { Api, Asked } from './api.js'
import { fieldsOf, parseJson } from './json.js'

/** Who asks, and for which conversation. */
export interface Whose {
  /** Who is recorded to ask; undefined: the ledger's own. */
  readonly actor: string | undefined
  /** By the name of the program that asks. */
  readonly program: string
  readonly programVersion: string | undefined
  /** The ledger's id of the conversation, where a header says it; else how the ids of such conversations begin. */
  readonly conversationId: string | undefined
  readonly begins: string
  /** A coding agent that marks its requests, and offers its tools whenever it works. */
  readonly isProgram: boolean
  /** The request is marked as an errand of the program's own. */
  readonly isErrand: boolean
  /** The client says that it asks again. */
  readonly isRetry: boolean
}

/** The header by which a client says which conversation it means. */
export const CONVERSATION = 'x-context-ledger-conversation'

/** The headers by which Codex names a thread, newest first. */
const CODEX_THREAD = ['thread-id', 'conversation_id', 'conversation-id', 'session-id', 'session_id']
/** Errands of Codex: what is asked beside the conversation. */
const CODEX_ERRANDS = new Set<unknown>(['compact', 'compaction', 'review', 'memory_consolidation'])

/** Whether Codex asks beside the conversation; since 0.169 its metadata of a turn say that it asks for a summary. */
const isCodexErrand = (headers: Headers): boolean =>
  CODEX_ERRANDS.has(headers.get('x-openai-subagent')) ||
  CODEX_ERRANDS.has(fieldsOf(parseJson(headers.get('x-codex-turn-metadata') ?? ''))['request_kind'])

/**
 * Codex before 0.169 says nothing in its headers when it asks for a summary. It offers its tools with every turn, and
 * none with that question.
 */
export const isToolless = ({ program }: Whose, line: { readonly tools: string }, { tools }: Asked): boolean =>
  program === 'codex' && tools.length === 0 && line.tools !== ''

const first = (headers: Headers, names: readonly string[]): string | undefined =>
  names.map((name) => headers.get(name)?.trim()).find((value) => value !== undefined && value !== '')

/** A user agent as name and version: `OpenAI/JS 7.55.0`, `claude-cli/2.1.0 (external, cli)`. */
function agentOf(headers: Headers): { readonly name: string | undefined; readonly version: string | undefined } {
  const [, name, version] = /^([\w.-]+(?:\/[A-Za-z]+)?)[/ ]v?(\d[\w.+-]*)/u.exec(headers.get('user-agent') ?? '') ?? []
  return { name: name?.toLowerCase(), version }
}

/** What a list begins with, by hash: two conversations that begin alike are told apart by what comes later. */
function beginningOf(api: Api, { instructions, messages }: Asked): string {
  const user = messages.find(({ input }) => input.role === 'user') ?? messages[0]
  const parts = [...instructions.map(({ hash }) => hash), user?.hash ?? '']
  return `proxy/${api.name}/${createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 20)}`
}

/** Whose a request is. */
export function whoseIs(api: Api, asked: Asked, headers: Headers, actor: string | undefined): Whose {
  const agent = agentOf(headers)
  const claude = first(headers, ['x-claude-code-session-id'])
  const isCodex = /codex/iu.test(`${headers.get('user-agent') ?? ''} ${headers.get('originator') ?? ''}`)
  const codex = isCodex ? first(headers, CODEX_THREAD) : undefined
  const named = first(headers, [CONVERSATION])
  const sub = first(headers, ['x-claude-code-agent-id'])
  const held = asked.held?.kind === 'conversation' ? `proxy/openai/${asked.held.id}` : undefined
  const own =
    claude !== undefined
      ? `proxy/claude-code/${claude}${sub === undefined ? '' : `/${sub}`}`
      : codex === undefined
        ? held
        : `proxy/codex/${codex}`
  return {
    actor,
    program: claude === undefined ? (codex === undefined ? (agent.name ?? api.name) : 'codex') : 'claude-code',
    programVersion: agent.version,
    conversationId: named ?? own,
    begins: beginningOf(api, asked),
    isProgram: claude !== undefined || codex !== undefined,
    isErrand: codex !== undefined && isCodexErrand(headers),
    isRetry: Number(headers.get('x-stainless-retry-count') ?? 0) > 0,
  }
}
