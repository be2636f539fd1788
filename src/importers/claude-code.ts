/**
 * Transcripts of Claude Code (`~/.claude/projects/<folder>/<session>.jsonl`): a file of JSON lines that only grows. Each
 * record names its parent, so that a conversation is a tree; a compaction is a marker and, behind it, the summary, and
 * what was said before both stays in the file. A sub-agent has a file of its own; in older versions its lines stand
 * between those of the session that called it.
 *
 * A large result of a tool lies in a file of its own, and the transcript holds the preview that the model was given. It
 * is the preview that is taken: it is what was said.
 */
import { readFileSync } from 'node:fs'
import {
  createConversation,
  promptHash,
  takeNext,
  takeRecord,
  type Conversation,
  type Taken,
} from './claude-code-conversation.js'
import {
  agentMetaOf,
  isChained,
  isOfClaudeCode,
  nameOf,
  recordOf,
  timeOf,
  type AgentMeta,
} from './claude-code-records.js'
import type { Importer, Parent, TranscriptItem, TranscriptReader, TranscriptRecord } from './transcript.js'

/** What the path of a transcript tells. */
interface Named {
  readonly base: string
  /** The session, where the file is called by one, as the program calls it. */
  readonly session: string | undefined
  /** The sub-agent, where the file is one's. */
  readonly agent: string | undefined
  /** The session whose folder the file lies in. */
  readonly folder: string | undefined
}

function namedBy(path: string): Named {
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

/** What the file beside a sub-agent's transcript tells; undefined where there is none. */
function metaBeside(path: string): AgentMeta | undefined {
  if (namedBy(path).agent === undefined) return undefined
  try {
    return agentMetaOf(JSON.parse(readFileSync(path.replace(/\.jsonl$/u, '.meta.json'), 'utf8')))
  } catch {
    return undefined
  }
}

const agentSource = (session: string | undefined, agent: string): string =>
  session === undefined ? `agent-${agent}` : `${session}/agent-${agent}`

/** The conversation that a sub-agent was called in: its session's, or another sub-agent's. */
function callerOf(
  session: string | undefined,
  agent: string | undefined,
  callId: string | undefined,
): Parent | undefined {
  if (session === undefined) return undefined
  const sourceId = agent === undefined ? session : agentSource(session, agent)
  return { sourceId, how: 'sub-agent', ...(callId === undefined ? {} : { callId }) }
}

const has = (id: string | null | undefined): boolean => (id ?? '') !== ''

/** A conversation that begins with this record. */
function begin(
  { record }: Taken,
  told: { readonly sourceId: string; readonly parent: Parent | undefined; readonly title: string | undefined },
): Conversation {
  const beginsLate = has(record.parentUuid) || has(record.logicalParentUuid)
  const startedAt = beginsLate ? undefined : timeOf(record.timestamp)
  return createConversation(
    {
      kind: 'conversation',
      sourceId: told.sourceId,
      ...(record.version === undefined ? {} : { programVersion: record.version }),
      ...(told.parent === undefined ? {} : { parent: told.parent }),
      ...(told.title === undefined ? {} : { title: told.title }),
      ...(record.cwd === undefined ? {} : { cwd: record.cwd }),
      ...(startedAt === undefined ? {} : { startedAt }),
    },
    beginsLate,
  )
}

function createReader(path: string): TranscriptReader {
  const named = namedBy(path)
  const meta = metaBeside(path)
  const conversations = new Map<string, Conversation>()
  const sides = new Set<Conversation>()
  let current: Conversation | undefined
  let main: Conversation | undefined
  let title: string | undefined
  let count = 0

  const open = (sourceId: string, create: () => Conversation): Conversation => {
    const known = conversations.get(sourceId)
    if (known !== undefined) return known
    const created = create()
    conversations.set(sourceId, created)
    return created
  }
  /** The conversation in which the parent of a record stands. */
  const ofParent = ({ record }: Taken, isSide: boolean): Conversation | undefined => {
    const { parentUuid } = record
    if ((parentUuid ?? '') === '') return undefined
    return [...conversations.values()].find(
      (each) =>
        sides.has(each) === isSide && (each.branches.knows(parentUuid ?? '') || each.boundary?.id === parentUuid),
    )
  }

  const mainOf = (taken: Taken): Conversation => {
    const { sessionId, forkedFrom } = taken.record
    if (named.session === undefined) {
      const known = ofParent(taken, false)
      if (known !== undefined) return known
    }
    const sourceId = named.session ?? sessionId ?? main?.opening.sourceId ?? named.base
    // A fork begins with a copy of the records of the session that it comes from, under its own id or under theirs.
    const forked = forkedFrom?.sessionId ?? sessionId ?? sourceId
    const parent: Parent | undefined = forked === sourceId ? undefined : { sourceId: forked, how: 'fork' }
    return open(sourceId, () => begin(taken, { sourceId, parent, title }))
  }
  const sideOf = (taken: Taken): Conversation => {
    const { record, id } = taken
    const { sessionId } = record
    const own = sessionId === undefined || sessionId.startsWith('agent-') ? named.folder : sessionId
    const session = named.agent === undefined ? (named.session ?? own) : own
    const agent = record.agentId ?? named.agent
    if (agent === undefined) {
      const known = ofParent(taken, true)
      if (known !== undefined) return known
    }
    const sourceId = agentSource(session, agent ?? id)
    return open(sourceId, () => {
      if (named.agent !== undefined) {
        const parent = callerOf(session, meta?.parentAgentId, meta?.toolUseId)
        return begin(taken, { sourceId, parent, title: meta?.description })
      }
      const prompt = record.message?.content
      const callId =
        main !== undefined && typeof prompt === 'string' ? takeNext(main.prompts, promptHash(prompt)) : undefined
      return begin(taken, { sourceId, parent: callerOf(session, undefined, callId), title: undefined })
    })
  }

  function* take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    count += 1
    const record = recordOf(value)
    if (record === undefined) {
      yield { kind: 'damage', detail: 'is no record: it has no type', isCut: false, where }
      return
    }
    if (!isChained(record)) {
      title ??= record.customTitle
      yield { kind: 'left-out', what: nameOf(record), where }
      return
    }
    const taken: Taken = { record, id: record.uuid ?? `record-${String(where.line ?? count)}`, where }
    const isSide = record.isSidechain === true || named.agent !== undefined
    const conversation = isSide ? sideOf(taken) : mainOf(taken)
    if (isSide) sides.add(conversation)
    else main = conversation
    for (const item of takeRecord(conversation, taken)) {
      if (current !== conversation) {
        current = conversation
        yield { ...conversation.opening, where }
      }
      yield item
    }
  }

  return {
    take,
    *end() {
      for (const { boundary } of conversations.values())
        if (boundary !== undefined) yield { kind: 'left-out', what: nameOf(boundary.record), where: boundary.where }
    },
  }
}

/** Claude Code. */
export const claudeCode: Importer = {
  program: 'claude-code',
  title: 'Claude Code',
  homes: ({ CLAUDE_CONFIG_DIR: folder }, home) =>
    (folder ?? '') === ''
      ? [`${home}/.claude/projects`, `${home}/.config/claude/projects`]
      : [`${folder ?? ''}/projects`],
  recognize: ({ records }) => (records.some(isOfClaudeCode) ? 'lines' : undefined),
  read: createReader,
}
