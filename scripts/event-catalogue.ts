/**
 * Writes docs/events.md from the schemas of the facts: `npm run catalogue`. With `--check` it only compares, for the
 * checks.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import { eventSchemas, isEventType, metadataSchema, type EventType } from '../src/domain/events/index.js'

const SAYS: Readonly<Record<EventType, string>> = {
  ConversationConfigured:
    'the conversation goes by these settings from here on; first in every stream, and again when something changes',
  MessageAppended: 'a message joined the conversation',
  MessagesWithdrawn:
    'messages are said no more: edited, removed, cut off or said in another order; they stay in the log',
  MessagePinned: 'a message stays out of compaction and is shown word for word',
  MessageUnpinned: 'a pinned message may be compacted again',
  ChunkSummarized: 'a chunk of messages has a summary; by which strategy, model and prompt, and what it cost',
  SummarySetAside:
    'a summary that was paid for came too late: what it is of was compacted meanwhile; it is found again where the same is asked for, and waits to be archived once its messages are live again',
  BatchArchived: 'a summary is safe in the archive under its label',
  BatchesResummarized: 'several batches became one, a level deeper',
  MessagesPruned:
    'messages left the live context, archived batches cover them; closes the books: what the next load needs is carried forward',
  CompactionFailed: 'a summary could not be had; the context is as it was',
  CompactionCouldNotHelp: 'the context is at a limit, and nothing may be folded that would help',
  EditionStarted:
    'the same history is compacted again, under this configuration and by this summarizer; first in the stream of an edition, and again when a dropped one is taken up',
  EditionAdvanced: 'an edition has seen the conversation up to a revision; what follows was decided on that',
  EditionDropped: 'an edition is given up; what it recorded stays',
  EditionCompared:
    'what an edition keeps, shows and loses beside what was in force, or beside another edition; the lists are capped, the counts are not',
  EditionAdopted: 'an edition is in force: its batches, its window and its configuration; closes the books',
  EditionReverted:
    'what an edition had replaced is in force again, with all messages that came since; closes the books',
  CycleUndone:
    'the messages of the last cycles are live again, and what these cycles had made is out of use; closes the books',
  PromptRegistered: 'the text of a template or persona that was used, in the stream of its hash',
}

interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly items?: JsonSchema
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly JsonSchema[]
  readonly format?: string
  readonly pattern?: string
}

function shape(schema: JsonSchema): string {
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${String(value)}\``).join(', ')
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``
  if (schema.anyOf !== undefined) return schema.anyOf.map(shape).join(' or ')
  if (schema.type === 'array') return `list of ${schema.items === undefined ? 'anything' : shape(schema.items)}`
  if (schema.properties !== undefined)
    return `{ ${Object.keys(schema.properties)
      .map((key) => (schema.required?.includes(key) === true ? key : `${key}?`))
      .join(', ')} }`
  if (schema.format === 'date-time') return 'time (ISO 8601, UTC)'
  if (schema.pattern === '^\\d+$') return 'revision (decimal string)'
  if (schema.pattern?.includes('0-9a-f') === true) return 'SHA-256 (hexadecimal)'
  return String(schema.type ?? 'anything')
}

function table(schema: z.ZodType): string {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- zod types every JSON Schema that there is; ours is the part that these schemas use
  const json = z.toJSONSchema(schema, { io: 'input' }) as JsonSchema
  const rows = Object.entries(json.properties ?? {}).map(
    ([field, of]) =>
      `| \`${field}\` | ${json.required?.includes(field) === true ? 'yes' : ''} | ${shape(of).replaceAll('|', '\\|')} |`,
  )
  return ['| field | always | shape |', '| --- | --- | --- |', ...rows].join('\n')
}

const page = [
  '# The facts',
  '',
  'Written by `npm run catalogue` from `src/domain/events/index.ts`; do not edit. Streams: `conversation-<conversationId>`, `edition-<editionId>-<conversationId>` for a history that is compacted again, and `prompt-<SHA-256>` for prompts.',
  'Data above 64 KiB lies beside the log under its SHA-256; the event then carries `{ claimCheck: { sha256, bytes, preview } }`.',
  '',
  '## Metadata of every fact',
  '',
  table(metadataSchema),
  ...Object.entries(eventSchemas).flatMap(([type, { version, schema }]) => [
    '',
    `## ${type} (version ${String(version)})`,
    '',
    isEventType(type) ? `${SAYS[type]}.` : '',
    '',
    table(schema),
  ]),
  '',
].join('\n')

const file = new URL('../docs/events.md', import.meta.url)
if (process.argv.includes('--check')) {
  if (readFileSync(file, 'utf8') !== page) {
    console.error('docs/events.md is not what the schemas say: run npm run catalogue')
    process.exitCode = 1
  }
} else writeFileSync(file, page)
