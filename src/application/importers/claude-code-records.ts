/**
 * The fields that the importer reads of Claude Code records. Every field may be missing, and a value of another type
 * counts as missing: the format has no published schema, and it changes with the program's version.
 */
import { z } from 'zod'

const text = z.string().min(1).optional().catch(undefined)
const flag = z.boolean().optional().catch(undefined)
const amount = z.number().nonnegative().optional().catch(undefined)
const texts = z.array(z.string()).readonly().optional().catch(undefined)
/** The id of a record, or null if the program recorded that there is none. */
const reference = z.string().nullable().optional().catch(undefined)

const usageSchema = z.looseObject({
  input_tokens: amount,
  output_tokens: amount,
  cache_read_input_tokens: amount,
  cache_creation_input_tokens: amount,
})

const messageSchema = z.looseObject({
  id: text,
  model: text,
  content: z.unknown().optional(),
  usage: usageSchema.optional().catch(undefined),
})

const compactMetadataSchema = z.looseObject({
  trigger: text,
  preTokens: amount,
  postTokens: amount,
  durationMs: amount,
  preservedSegment: z.looseObject({ headUuid: text, tailUuid: text, anchorUuid: text }).optional().catch(undefined),
  preservedMessages: z.looseObject({ uuids: texts, allUuids: texts, anchorUuid: text }).optional().catch(undefined),
})

const microcompactMetadataSchema = z.looseObject({ compactedToolIds: texts, clearedAttachmentUUIDs: texts })

const attachmentSchema = z.looseObject({ type: z.string() })
/** The content of a record of type `attachment`; its other fields depend on its type. */
export type Attachment = z.infer<typeof attachmentSchema>

const recordSchema = z.looseObject({
  type: z.string().min(1),
  subtype: text,
  uuid: text,
  parentUuid: reference,
  logicalParentUuid: reference,
  sessionId: text,
  agentId: text,
  version: text,
  cwd: text,
  timestamp: text,
  isSidechain: flag,
  isMeta: flag,
  isCompactSummary: flag,
  promptSource: text,
  origin: z.looseObject({ kind: text }).optional().catch(undefined),
  forkedFrom: z.looseObject({ sessionId: text }).optional().catch(undefined),
  sourceToolAssistantUUID: text,
  customTitle: text,
  aiTitle: text,
  summary: text,
  leafUuid: text,
  message: messageSchema.optional().catch(undefined),
  attachment: attachmentSchema.optional().catch(undefined),
  rendered: z.unknown().optional(),
  renderedRole: text,
  compactMetadata: compactMetadataSchema.optional().catch(undefined),
  microcompactMetadata: microcompactMetadataSchema.optional().catch(undefined),
})
export type ClaudeRecord = z.infer<typeof recordSchema>
export type ClaudeUsage = z.infer<typeof usageSchema>

/** Parses a record; undefined if the value is not a record. */
export const recordOf = (value: unknown): ClaudeRecord | undefined => recordSchema.safeParse(value).data

/** The name under which the report counts a record: its type, and the subtype for `system` and `attachment`. */
export function nameOf({ type, subtype, attachment }: ClaudeRecord): string {
  if (type === 'system' && subtype !== undefined) return `system/${subtype}`
  if (type === 'attachment' && attachment !== undefined) return `attachment/${attachment.type}`
  return type
}

/** The types of records that are part of a conversation's tree. */
const CHAINED = new Set(['user', 'assistant', 'system', 'attachment', 'progress'])
export const isChained = ({ type }: ClaudeRecord): boolean => CHAINED.has(type)

/** A time as ISO 8601 in UTC. A time without a zone counts as UTC. Undefined if the text is not a time. */
export function timeOf(timestamp: string | undefined): string | undefined {
  if (timestamp === undefined) return undefined
  const time = new Date(/(?:z|[+-]\d\d:?\d\d)$/iu.test(timestamp) ? timestamp : `${timestamp}Z`)
  const iso = Number.isNaN(time.getTime()) ? '' : time.toISOString()
  return /^\d{4}-/u.test(iso) ? iso : undefined
}

const metaSchema = z.looseObject({ description: text, toolUseId: text, parentAgentId: text })
/** The fields of the metadata file in the same directory as a sub-agent's transcript. */
export type AgentMeta = z.infer<typeof metaSchema>
export const agentMetaOf = (value: unknown): AgentMeta | undefined => metaSchema.safeParse(value).data

/** Records that only Claude Code writes. Some may precede the first message. */
const headSchema = z.union([
  z.looseObject({ type: z.literal('file-history-snapshot'), messageId: z.string(), snapshot: z.looseObject({}) }),
  z.looseObject({ type: z.literal('summary'), summary: z.string(), leafUuid: z.string() }),
  z.looseObject({ type: z.literal('queue-operation'), operation: z.string(), sessionId: z.string() }),
  z.looseObject({ type: z.literal('custom-title'), customTitle: z.string(), sessionId: z.string() }),
  z.looseObject({
    type: z.enum(['user', 'assistant']),
    uuid: z.string(),
    sessionId: z.string(),
    isSidechain: z.boolean(),
    message: z.looseObject({ content: z.union([z.string(), z.array(z.unknown())]) }),
  }),
  z.looseObject({
    type: z.enum(['system', 'attachment', 'progress']),
    uuid: z.string(),
    sessionId: z.string(),
    isSidechain: z.boolean(),
  }),
])
export const isOfClaudeCode = (value: unknown): boolean => headSchema.safeParse(value).success
