/** The records of a task of Cline or Roo, with their messages and ids. */
import { isRecord } from '../../lib/is-record.js'
import { z } from 'zod'
import { contentText } from '../../domain/values/message.js'
import { textIn } from '../../lib/text-in.js'
import { type Fields } from './bodies.js'
import type { ContentId } from './content-id.js'
import { createContentIds, messagesIn, type RecordMessage } from './task-blocks.js'

const text = z.string().optional().catch(undefined)
const messageSchema = z.looseObject({
  role: text,
  type: text,
  id: text,
  ts: z.number().optional().catch(undefined),
  isSummary: z.boolean().optional().catch(undefined),
  condenseId: text,
  condenseParent: text,
  isTruncationMarker: z.boolean().optional().catch(undefined),
  truncationId: text,
  truncationParent: text,
  metadata: z.record(z.string(), z.unknown()).optional().catch(undefined),
  modelInfo: z.record(z.string(), z.unknown()).optional().catch(undefined),
  metrics: z.record(z.string(), z.unknown()).optional().catch(undefined),
})
/** A record as stored by the program; fields that are not listed here are unchanged. */
export type TaskRecord = z.infer<typeof messageSchema>

/** One record of the list. */
export interface Entry {
  readonly record: TaskRecord
  readonly sourceId: string
  readonly messages: readonly RecordMessage[]
  /** The program inserted it as the replacement of hidden messages. */
  readonly isSummary: boolean
  readonly isMarker: boolean
}

const GENERATED = 'compaction_summary'
const isGenerated = ({ metadata }: TaskRecord): boolean => metadata?.['kind'] === GENERATED

/** Additional fields of a record. Providers of reasoning models require them in later requests. */
function extraOf(record: TaskRecord): Fields | undefined {
  const { reasoning_details: details, reasoning_content: content } = record
  const extra = {
    ...(details === undefined ? {} : { reasoning_details: details }),
    ...(content === undefined ? {} : { reasoning_content: content }),
  }
  return Object.keys(extra).length === 0 ? undefined : extra
}

/** The messages of a record with a role. */
export const messagesOf = (record: TaskRecord, sourceId: string): readonly RecordMessage[] =>
  record.role === undefined ? [] : messagesIn(record.role, record['content'], extraOf(record), sourceId)

/** Encrypted reasoning is a separate record before the answer. */
function reasoningIn(message: Fields, sourceId: string): readonly RecordMessage[] {
  if (message['type'] !== 'reasoning') return []
  const { ts: _ts, condenseParent: _condensed, truncationParent: _truncated, ...reasoning } = message
  return messagesIn('assistant', [reasoning], undefined, sourceId)
}

/** The records of a list, at the same indexes; undefined for values that are not records. */
export function entriesOf(messages: readonly unknown[], contentId: ContentId): readonly (Entry | undefined)[] {
  const nextId = createContentIds(contentId)
  const usedIds = new Set<string>()
  return messages.map((message) => {
    if (!isRecord(message)) return undefined
    const parsed = messageSchema.safeParse(message)
    if (!parsed.success) return undefined
    const record = parsed.data
    const programId = record.role === undefined ? undefined : textIn(record.id)
    const derived = nextId([record.role ?? record.type, record['content'] ?? record['encrypted_content'], record.ts])
    const sourceId = programId === undefined || usedIds.has(programId) ? derived : programId
    usedIds.add(sourceId)
    const isSummary = record.isSummary === true || isGenerated(record)
    return {
      record,
      sourceId,
      messages: record.role === undefined ? reasoningIn(message, sourceId) : messagesOf(record, sourceId),
      isSummary,
      isMarker: !isSummary && record.isTruncationMarker === true,
    }
  })
}

const withoutResults = ({ body }: RecordMessage): boolean => body.role !== 'tool'

/** The text of a summary, without the text around it. */
export function summaryTextOf(entry: Entry): string {
  const metadataSummary = textIn(entry.record.metadata?.['summary'])
  const body = entry.messages.find(withoutResults)?.body
  const parts = typeof body?.content === 'string' || body === undefined ? [] : (body.content ?? [])
  const first = parts.find((part) => part.type === 'text')
  return metadataSummary ?? textIn(first?.['text']) ?? contentText(body?.content ?? '')
}
