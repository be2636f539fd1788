/**
 * Requests that programs make about a conversation and that are no turns of it: questions for a summary, and other work on
 * a copy of it. The table says how each program marks them. Claude Code does not: `summaryQuestionIndex` and the answer
 * show its questions.
 */
import { contentText, messageHash, type ProxyRequest, type Redact } from '../../application/model-apis/api.js'
import { fieldsOf, listOf, parseJson, textOf } from '../../application/model-apis/json.js'
import { textWithin } from '../../lib/text-in.js'

/** A request about a conversation. */
export interface ProgramQuestion {
  /** The answer is a summary of the conversation, which a later list may contain. */
  readonly isSummary: boolean
}

/** The marks of a question, which no user writes. One of them is enough. */
interface KnownQuestion extends ProgramQuestion {
  readonly program: string
  readonly isInHeaders?: (headers: Headers) => boolean
  /** The beginning of the first instruction. */
  readonly instructions?: RegExp
  /** The text of the last message of the user. */
  readonly question?: RegExp
}

/** What Codex calls its questions for a summary, and its other work. */
const CODEX_SUMMARIES = ['compact', 'compaction']
const CODEX_WORK = ['review', 'memory_consolidation']

/** Whether the headers of Codex name one of these kinds. Since version 0.169 the metadata of a turn have it. */
const isOfCodexKind =
  (kinds: readonly unknown[]) =>
  (headers: Headers): boolean =>
    kinds.includes(headers.get('x-openai-subagent')) ||
    kinds.includes(fieldsOf(parseJson(headers.get('x-codex-turn-metadata') ?? ''))['request_kind'])

/** Qwen Code writes this into the instructions, or into the question if that has the instructions of the turns. */
const SUMMARIZING_COMPONENT =
  /^\s*You are the component that summarizes a conversation when its context window is about to overflow\b/u

const QUESTIONS: readonly KnownQuestion[] = [
  { program: 'codex', isSummary: true, isInHeaders: isOfCodexKind(CODEX_SUMMARIES) },
  { program: 'codex', isSummary: false, isInHeaders: isOfCodexKind(CODEX_WORK) },
  {
    program: 'copilot-cli',
    isSummary: true,
    isInHeaders: (headers) => headers.get('x-interaction-type') === 'conversation-compaction',
  },
  { program: 'pi', isSummary: true, instructions: /^You are a context summarization assistant\./u },
  {
    program: 'cline',
    isSummary: true,
    instructions: /^Summarize the provided coding session into a concise continuation note\b/u,
  },
  {
    program: 'continue',
    isSummary: true,
    question:
      /^Please provide a concise summary of our conversation so far, capturing the key context, decisions made, and current state\. Format this\b/u,
  },
  {
    program: 'qwen',
    isSummary: true,
    instructions: SUMMARIZING_COMPONENT,
    question: /\bFirst, reason in your <analysis> block\. Then, produce the <state_snapshot>/u,
  },
  { program: 'qwen', isSummary: true, question: SUMMARIZING_COMPONENT },
  {
    program: 'qwen',
    isSummary: false,
    instructions: /^You are now acting as the managed memory extraction subagent\b/u,
  },
]

/** Programs that offer their tools in every turn, but not in a request for a summary or a title. No header says so. */
const TOOLLESS: ReadonlySet<string> = new Set(['codex', 'opencode'])

/** Whether a coding agent asks for a summary or a title of its conversation, and marks that only by the missing tools. */
export const isToollessQuestion = (
  program: string,
  conversation: { readonly toolsHash: string },
  { tools }: Pick<ProxyRequest, 'tools'>,
): boolean => TOOLLESS.has(program) && tools.length === 0 && conversation.toolsHash !== ''

/** The last text of the last message, if that is the user's: a program puts its reminders before it. */
function lastText({ messages }: Pick<ProxyRequest, 'messages'>): string {
  const input = messages.at(-1)?.input
  if (input?.role !== 'user') return ''
  const { content } = input
  return typeof content === 'string' ? content : (textOf(fieldsOf(listOf(content).at(-1))['text']) ?? '')
}

/** The question that a request asks about a conversation; undefined for a turn of one. */
export function programQuestion(
  request: Pick<ProxyRequest, 'instructions' | 'messages'>,
  headers: Headers,
): ProgramQuestion | undefined {
  const instructions = contentText(request.instructions[0]?.input.content)
  const last = lastText(request)
  return QUESTIONS.find(
    (each) =>
      each.isInHeaders?.(headers) === true ||
      each.instructions?.test(instructions) === true ||
      each.question?.test(last) === true,
  )
}

/** The beginning and the end of the conversation that a question quotes: of pi, of its part of a turn, and of Cline. */
const QUOTATIONS = [
  ['<conversation>\n', '\n</conversation>'],
  ['# Conversation\n', '\n\n# Instructions\n'],
  ['\n\nConversation:\n', ''],
] as const
/** The beginning of a quoted message. */
const SPEAKER = /^\[(User|Assistant|Bot|Tool result)\]: /u
const ROLES: Readonly<Record<string, 'user' | 'assistant' | 'tool'>> = {
  User: 'user',
  Assistant: 'assistant',
  Bot: 'assistant',
  'Tool result': 'tool',
}

/** The hashes of the messages that a question quotes in its text. */
export function quotedHashes(request: Pick<ProxyRequest, 'messages'>, redact: Redact): ReadonlySet<string> {
  const text = lastText(request)
  const quotation = QUOTATIONS.map(([begin, end]) => textWithin(text, begin, end)).find((each) => each !== undefined)
  return new Set(
    (quotation ?? '').split(/\n(?=\[[A-Z][\w ]*\]: )/u).flatMap((message) => {
      const [beginning = '', speaker] = SPEAKER.exec(message) ?? []
      const role = speaker === undefined ? undefined : ROLES[speaker]
      if (role === undefined) return []
      const content = message.slice(beginning.length).trimEnd()
      return [messageHash(redact({ role, content }))]
    }),
  )
}
