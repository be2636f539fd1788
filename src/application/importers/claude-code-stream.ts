/**
 * The output of `claude --output-format stream-json`, saved to a file: one message a line, with the content that Claude
 * Code writes to its transcripts. The reader gives each line the fields of a transcript, and reads it as one. Written for
 * the messages that `@anthropic-ai/claude-agent-sdk` 0.3.332 declares (Claude Code 2.1.332); the types of older versions
 * are the same without `uuid`. The stream has no times, and no prompts unless Claude Code repeats them
 * (`--replay-user-messages`).
 */
import { isRecord } from '../../lib/is-record.js'
import { textIn } from '../../lib/text-in.js'
import { inside, type Fields } from './bodies.js'
import { claudeCode } from './claude-code.js'
import type { ContentId } from './content-id.js'
import { withoutRepeats } from './repeats.js'
import type { Head, Importer, Layout, TranscriptItem, TranscriptReader, TranscriptRecord } from './transcript.js'

/** Types of lines with messages, and those that only a stream has. */
const TYPES = new Set(['system', 'assistant', 'user', 'result', 'stream_event'])

const isLine = (value: unknown): value is Fields =>
  isRecord(value) &&
  TYPES.has(textIn(value['type']) ?? '') &&
  typeof value['session_id'] === 'string' &&
  value['sessionId'] === undefined

const camelCase = (name: string): string => name.replace(/_([a-z])/gu, (_match, letter: string) => letter.toUpperCase())

/** Metadata of a compaction with the names of a transcript. */
function camelFields(value: unknown): unknown {
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [camelCase(name), camelFields(each)]))
}

class StreamReader implements TranscriptReader {
  private readonly reader: TranscriptReader
  /** Branch (main, or the call that started a sub-agent) → id of its last message. */
  private readonly last = new Map<string | undefined, string>()
  private version: string | undefined
  private cwd: string | undefined
  private count = 0
  private followsBoundary = false

  constructor(path: string, contentId: ContentId) {
    this.reader = claudeCode.read(path, contentId)
  }

  *take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    this.count += 1
    if (!isLine(value)) {
      yield { kind: 'left-out', what: textIn(inside(value, 'type')) ?? 'line', where }
      return
    }
    const { type, subtype } = value
    if (subtype === 'init') {
      this.version = textIn(value['claude_code_version']) ?? this.version
      this.cwd = textIn(value['cwd']) ?? this.cwd
    }
    if (type === 'stream_event' || type === 'result' || (type === 'system' && subtype !== 'compact_boundary')) {
      yield { kind: 'left-out', what: [type, subtype].flatMap((name) => textIn(name) ?? []).join('/'), where }
      return
    }
    for (const item of this.reader.take({ value: this.asTranscript(value), where })) yield withStream(item)
  }

  *end(): Generator<TranscriptItem> {
    for (const item of this.reader.end()) yield withStream(item)
  }

  /** A line with the fields of a transcript's record. */
  private asTranscript(line: Fields): Fields {
    const callId = textIn(line['parent_tool_use_id'])
    const uuid = textIn(line['uuid']) ?? `line-${String(this.count)}`
    const parent = this.last.get(callId)
    const isBoundary = line['type'] === 'system'
    // The program inserts the summary directly after the boundary.
    const isSummary = this.followsBoundary && line['isSynthetic'] === true
    this.followsBoundary = isBoundary
    this.last.set(callId, uuid)
    return {
      type: line['type'],
      subtype: line['subtype'],
      uuid,
      parentUuid: isBoundary ? null : (parent ?? null),
      ...(isBoundary ? { logicalParentUuid: parent } : {}),
      sessionId: line['session_id'],
      ...(callId === undefined ? {} : { isSidechain: true, agentId: callId }),
      timestamp: line['timestamp'],
      version: this.version,
      cwd: this.cwd,
      message: line['message'],
      isMeta: line['isSynthetic'],
      isCompactSummary: isSummary,
      origin: line['origin'],
      compactMetadata: camelFields(line['compact_metadata']),
    }
  }
}

/** A sub-agent is named after its call. A compaction without its summary in the stream has one that is not shown. */
function withStream(item: TranscriptItem): TranscriptItem {
  if (item.kind === 'compaction' && item.summary.kind === 'none') return { ...item, summary: { kind: 'opaque' } }
  if (item.kind !== 'conversation' || item.parent?.how !== 'sub-agent') return item
  const callId = item.sourceId.slice(`${item.parent.sourceId}/agent-`.length)
  return { ...item, parent: { ...item.parent, callId } }
}

const recognize = ({ records }: Head): Layout | undefined =>
  records.length > 0 &&
  records.every((record) => isRecord(record) && typeof record['type'] === 'string') &&
  records.some(isLine)
    ? 'lines'
    : undefined

/** The importer of Claude Code's stream. */
export const claudeCodeStream: Importer = {
  program: 'claude-code-stream',
  title: 'Claude Code (stream-json)',
  // The user chooses the file.
  homes: () => [],
  recognize,
  read: (path, contentId) => withoutRepeats(new StreamReader(path, contentId), { id: 'uuid', times: ['timestamp'] }),
}
