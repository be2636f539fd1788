/**
 * Transcripts of Claude Code (`~/.claude/projects/<folder>/<session>.jsonl`): a JSON Lines file that only grows. Each
 * record names its parent, so that a conversation is a tree. A compaction is a marker followed by the summary; the
 * earlier messages stay in the file. A sub-agent has its own file; older versions write its lines into the file of the
 * session that called it.
 *
 * A large tool result is in a separate file, and the transcript contains the preview that the model received. The
 * importer takes the preview, because the model saw only that.
 */
import { agentFolders } from '../../lib/user-folders.js'
import { readFileSync } from 'node:fs'
import {
  createConversation,
  promptHash,
  takeNext,
  takeRecord,
  type Conversation,
  type LocatedRecord,
} from './claude-code-conversation.js'
import {
  agentMetaOf,
  isChained,
  isOfClaudeCode,
  nameOf,
  recordOf,
  timeOf,
  type AgentMeta,
  type ClaudeRecord,
} from './claude-code-records.js'
import { linePlace } from './bodies.js'
import { isOfQwen } from './qwen.js'
import { isOfIFlow } from './unread-forms.js'
import { withoutRepeats, type IdentifyingFields } from './repeats.js'
import type {
  Importer,
  Parent,
  SourceLocation,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
} from './transcript.js'

/** The ids in the path of a transcript. */
interface PathIds {
  readonly base: string
  /** The session id, if the file name is one, spelled as in the file name. */
  readonly session: string | undefined
  /** The sub-agent id, if the file is a sub-agent's transcript. */
  readonly agent: string | undefined
  /** The session id from the directory that contains the file. */
  readonly folder: string | undefined
}

function pathIdsOf(path: string): PathIds {
  const parts = path.split(/[\\/]/u)
  const base = (parts.at(-1) ?? path).replace(/\.jsonl$/u, '')
  const agents = parts.lastIndexOf('subagents')
  return {
    base,
    session: /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/iu.test(base) ? base : undefined,
    agent: /^agent-(.+)$/u.exec(base)?.[1],
    folder: agents > 0 ? parts[agents - 1] : undefined,
  }
}

/** The metadata file in the same directory as a sub-agent's transcript; undefined if there is none. */
function agentMetaFile(path: string): AgentMeta | undefined {
  if (pathIdsOf(path).agent === undefined) return undefined
  try {
    return agentMetaOf(JSON.parse(readFileSync(path.replace(/\.jsonl$/u, '.meta.json'), 'utf8')))
  } catch {
    return undefined
  }
}

const agentSource = (session: string | undefined, agent: string): string =>
  session === undefined ? `agent-${agent}` : `${session}/agent-${agent}`

/** The conversation that called a sub-agent: the session, or another sub-agent. */
function callerOf(
  session: string | undefined,
  agent: string | undefined,
  callId: string | undefined,
): Parent | undefined {
  if (session === undefined) return undefined
  const sourceId = agent === undefined ? session : agentSource(session, agent)
  return { sourceId, how: 'sub-agent', ...(callId === undefined ? {} : { callId }) }
}

const isPresent = (id: string | null | undefined): boolean => (id ?? '') !== ''

/** Creates a conversation that begins with this record. */
function begin(
  { record }: LocatedRecord,
  details: { readonly sourceId: string; readonly parent: Parent | undefined; readonly title: string | undefined },
): Conversation {
  const beginsLate = isPresent(record.parentUuid) || isPresent(record.logicalParentUuid)
  const startedAt = beginsLate ? undefined : timeOf(record.timestamp)
  return createConversation(
    {
      kind: 'conversation',
      sourceId: details.sourceId,
      ...(record.version === undefined ? {} : { programVersion: record.version }),
      ...(details.parent === undefined ? {} : { parent: details.parent }),
      ...(details.title === undefined ? {} : { title: details.title }),
      ...(record.cwd === undefined ? {} : { cwd: record.cwd }),
      ...(startedAt === undefined ? {} : { startedAt }),
    },
    beginsLate,
  )
}

class ClaudeCodeReader implements TranscriptReader {
  readonly #pathIds: ReturnType<typeof pathIdsOf>
  readonly #meta: AgentMeta | undefined
  readonly #conversations = new Map<string, Conversation>()
  /** Conversations of sub-agents. */
  readonly #sides = new Set<Conversation>()
  /** The conversation of the last item. */
  #current: Conversation | undefined
  /** The conversation of the session. */
  #main: Conversation | undefined
  /** The titles of the session: by the user, by the program, and of an older version. The first of them counts. */
  readonly #titles: { custom?: string | undefined; ai?: string | undefined; summary?: string | undefined } = {}
  #count = 0

  constructor(path: string) {
    this.#pathIds = pathIdsOf(path)
    this.#meta = agentMetaFile(path)
  }

  *take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    this.#count += 1
    const record = recordOf(value)
    if (record === undefined) {
      yield { kind: 'damage', detail: 'is no record: it has no type', isCut: false, where }
      return
    }
    if (!isChained(record)) {
      yield* this.#takeTitle(record, where)
      yield { kind: 'left-out', what: nameOf(record), where }
      return
    }
    const id = record.uuid ?? `record-${linePlace(where) ?? String(this.#count)}`
    const located: LocatedRecord = { record, id, where }
    const isSide = record.isSidechain === true || this.#pathIds.agent !== undefined
    const conversation = isSide ? this.#sideOf(located) : this.#mainOf(located)
    if (isSide) this.#sides.add(conversation)
    else this.#main = conversation
    for (const item of takeRecord(conversation, located)) {
      if (this.#current !== conversation) {
        this.#current = conversation
        yield { ...conversation.opening, where }
      }
      yield item
    }
  }

  *end(): Generator<TranscriptItem> {
    for (const { pending } of this.#conversations.values())
      if (pending !== undefined)
        yield { kind: 'left-out', what: nameOf(pending.boundary.record), where: pending.boundary.where }
  }

  #open(sourceId: string, create: () => Conversation): Conversation {
    const known = this.#conversations.get(sourceId)
    if (known !== undefined) return known
    const created = create()
    this.#conversations.set(sourceId, created)
    return created
  }

  /** The conversation that contains the parent of a record. */
  #ofParent({ record }: LocatedRecord, isSide: boolean): Conversation | undefined {
    const { parentUuid } = record
    if ((parentUuid ?? '') === '') return undefined
    return [...this.#conversations.values()].find(
      (each) =>
        this.#sides.has(each) === isSide &&
        (each.branches.knows(parentUuid ?? '') || each.pending?.boundary.id === parentUuid),
    )
  }

  #mainOf(located: LocatedRecord): Conversation {
    const { session, base } = this.#pathIds
    const { sessionId, forkedFrom } = located.record
    if (session === undefined) {
      const known = this.#ofParent(located, false)
      if (known !== undefined) return known
    }
    const sourceId = session ?? sessionId ?? this.#main?.opening.sourceId ?? base
    // A fork begins with a copy of the original session's records, under its own session id or under the original one.
    const forked = forkedFrom?.sessionId ?? sessionId ?? sourceId
    const parent: Parent | undefined = forked === sourceId ? undefined : { sourceId: forked, how: 'fork' }
    return this.#open(sourceId, () => begin(located, { sourceId, parent, title: this.#title }))
  }

  #sideOf(located: LocatedRecord): Conversation {
    const { record, id } = located
    const { sessionId } = record
    const { agent: agentOfPath, session: sessionOfPath, folder } = this.#pathIds
    const parentSession = sessionId === undefined || sessionId.startsWith('agent-') ? folder : sessionId
    const session = agentOfPath === undefined ? (sessionOfPath ?? parentSession) : parentSession
    const agent = record.agentId ?? agentOfPath
    if (agent === undefined) {
      const known = this.#ofParent(located, true)
      if (known !== undefined) return known
    }
    const sourceId = agentSource(session, agent ?? id)
    return this.#open(sourceId, () => {
      if (agentOfPath !== undefined) {
        const parent = callerOf(session, this.#meta?.parentAgentId, this.#meta?.toolUseId)
        return begin(located, { sourceId, parent, title: this.#meta?.description })
      }
      const prompt = record.message?.content
      const prompts = this.#main?.prompts
      const callId =
        prompts !== undefined && typeof prompt === 'string' ? takeNext(prompts, promptHash(prompt)) : undefined
      return begin(located, { sourceId, parent: callerOf(session, undefined, callId), title: undefined })
    })
  }

  get #title(): string | undefined {
    return this.#titles.custom ?? this.#titles.ai ?? this.#titles.summary
  }

  /** A record may change the session's title. */
  *#takeTitle(
    { customTitle, aiTitle, summary, leafUuid }: ClaudeRecord,
    where: SourceLocation,
  ): Generator<TranscriptItem> {
    const before = this.#title
    this.#titles.custom = customTitle ?? this.#titles.custom
    this.#titles.ai = aiTitle ?? this.#titles.ai
    const main = this.#main
    // A file that continues a session can begin with the summary of the earlier one.
    if (main?.branches.knows(leafUuid ?? '') === true) this.#titles.summary = summary ?? this.#titles.summary
    const title = this.#title
    if (main === undefined || title === before || title === undefined) return
    this.#current = main
    yield { ...main.opening, title, where }
  }
}

/** The program writes a line again when it resumes. */
const IDENTIFYING: IdentifyingFields = {
  id: 'uuid',
  references: ['parentUuid', 'logicalParentUuid', 'compactMetadata', 'sourceToolAssistantUUID'],
  times: ['timestamp'],
  readerKnowsIds: true,
}

/** Claude Code. */
export const claudeCode: Importer = {
  program: 'claude-code',
  title: 'Claude Code',
  homes(environment, home) {
    const projects = `${agentFolders.claudeCode(environment, home)}/projects`
    return (environment['CLAUDE_CONFIG_DIR'] ?? '') === '' ? [projects, `${home}/.config/claude/projects`] : [projects]
  },
  recognize: ({ records }) =>
    records.some(isOfClaudeCode) && !records.some((record) => isOfIFlow(record) || isOfQwen(record))
      ? 'lines'
      : undefined,
  read: (path) => withoutRepeats(new ClaudeCodeReader(path), IDENTIFYING),
}
