/**
 * Claude Code: `projects/<directory>/<session>.jsonl`. There is no published format; the fields are those of files that
 * versions 2.1.14 to 2.1.219 wrote. Older messages become a compaction: a boundary, and the summary after it.
 */
import { randomUUID } from 'node:crypto'
import { shellWord } from '../../../lib/platform.js'
import { agentFolders } from '../../../lib/user-folders.js'
import { jsonLines, type Session, type SessionCall, type SessionPart, type SessionWriter } from '../session.js'

/** The version whose records these are. */
const VERSION = '2.1.197'

const USAGE = { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 }

const blockOf = (part: SessionPart): unknown =>
  part.kind === 'text'
    ? { type: 'text', text: part.text }
    : { type: 'image', source: { type: 'base64', media_type: part.mediaType, data: part.data } }

/** A text as a string, other parts as blocks. */
function contentOf(parts: readonly SessionPart[]): unknown {
  const [only] = parts
  if (only === undefined) return ''
  return parts.length === 1 && only.kind === 'text' ? only.text : parts.map(blockOf)
}

/** The records of a session, each linked to the one before. */
class Records {
  readonly all: unknown[] = []
  #last: string | null = null

  constructor(private readonly session: Session) {}

  get last(): string | null {
    return this.#last
  }

  add(at: string, fields: Readonly<Record<string, unknown>>): void {
    const { cwd, id } = this.session
    const uuid = randomUUID()
    this.all.push({
      parentUuid: this.#last,
      isSidechain: false,
      userType: 'external',
      cwd,
      sessionId: id,
      version: VERSION,
      gitBranch: '',
      ...fields,
      uuid,
      timestamp: at,
    })
    this.#last = uuid
  }

  user(at: string, content: unknown, rest: Readonly<Record<string, unknown>> = {}): void {
    this.add(at, { type: 'user', message: { role: 'user', content }, ...rest })
  }
}

function addHandover(records: Records, at: string, text: string): void {
  records.add(at, {
    type: 'system',
    subtype: 'compact_boundary',
    content: 'Conversation compacted',
    level: 'info',
    isMeta: false,
    compactMetadata: { trigger: 'manual', preTokens: 0 },
  })
  records.user(at, text, { isCompactSummary: true, isVisibleInTranscriptOnly: true })
}

const callBlock = ({ id, name, input }: SessionCall): unknown => ({ type: 'tool_use', id, name, input })

export const claudeCodeWriter: SessionWriter = {
  program: 'claude-code',
  home: agentFolders.claudeCode,
  write(session) {
    const records = new Records(session)
    const { id, cwd, title, at, handover, turns } = session
    if (handover !== undefined) addHandover(records, turns[0]?.at ?? at, handover)
    for (const turn of turns) {
      if (turn.role === 'user') {
        records.user(turn.at, contentOf(turn.parts))
        continue
      }
      const content = [...(turn.text === '' ? [] : [{ type: 'text', text: turn.text }]), ...turn.calls.map(callBlock)]
      records.add(turn.at, {
        type: 'assistant',
        message: {
          id: `msg_${randomUUID().replaceAll('-', '')}`,
          type: 'message',
          role: 'assistant',
          model: turn.model ?? 'unknown',
          content,
          stop_reason: turn.calls.length > 0 ? 'tool_use' : 'end_turn',
          stop_sequence: null,
          usage: USAGE,
        },
      })
      const caller = records.last
      for (const { id: callId, result } of turn.calls) {
        const block = { type: 'tool_result', tool_use_id: callId, content: contentOf(result.parts) }
        records.user(result.at, [result.isError ? { ...block, is_error: true } : block], {
          sourceToolAssistantUUID: caller,
        })
      }
    }
    if (title !== undefined) records.all.push({ type: 'custom-title', customTitle: title, sessionId: id })
    return Promise.resolve({
      path: `projects/${cwd.replaceAll(/[^A-Za-z0-9-]/gu, '-')}/${id}.jsonl`,
      content: jsonLines(records.all),
      sourceId: id,
      resume: () => [`cd ${shellWord(cwd)} && claude --resume ${id}`],
    })
  },
}
