/** The records of a task of Cline or Roo: what each says, and by which id it is known. */
import { z } from 'zod'
import { contentText } from '../domain/values/message.js'
import { isFields, textIn, type Fields } from './bodies.js'
import { createContentIds, saidIn, type Said } from './task-blocks.js'

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
/** A record as the program keeps it; what is not asked for here stays as it came. */
export type Given = z.infer<typeof messageSchema>

/** One record of the list. */
export interface Entry {
  readonly given: Given
  readonly sourceId: string
  readonly said: readonly Said[]
  /** The program put it there for what it hid. */
  readonly isSummary: boolean
  readonly isMarker: boolean
}

const GENERATED = 'compaction_summary'
const isGenerated = ({ metadata }: Given): boolean => metadata?.['kind'] === GENERATED

/** What a record says beside its content. Providers of reasoning want it back. */
function extraOf(given: Given): Fields | undefined {
  const { reasoning_details: details, reasoning_content: content } = given
  const extra = {
    ...(details === undefined ? {} : { reasoning_details: details }),
    ...(content === undefined ? {} : { reasoning_content: content }),
  }
  return Object.keys(extra).length === 0 ? undefined : extra
}

/** The messages of a record that has a role. */
export const saidOf = (given: Given, sourceId: string): readonly Said[] =>
  given.role === undefined ? [] : saidIn(given.role, given['content'], extraOf(given), sourceId)

/** A provider's reasoning that only it reads stands in a record of its own, before the answer. */
function reasoningIn(message: Fields, sourceId: string): readonly Said[] {
  if (message['type'] !== 'reasoning') return []
  const { ts: _ts, condenseParent: _condensed, truncationParent: _truncated, ...reasoning } = message
  return saidIn('assistant', [reasoning], undefined, sourceId)
}

/** The records of a list, each in its place; undefined for what is none. */
export function entriesOf(messages: readonly unknown[]): readonly (Entry | undefined)[] {
  const contentId = createContentIds()
  const taken = new Set<string>()
  return messages.map((message) => {
    if (!isFields(message)) return undefined
    const parsed = messageSchema.safeParse(message)
    if (!parsed.success) return undefined
    const given = parsed.data
    const own = given.role === undefined ? undefined : textIn(given.id)
    const derived = contentId([given.role ?? given.type, given['content'] ?? given['encrypted_content'], given.ts])
    const sourceId = own === undefined || taken.has(own) ? derived : own
    taken.add(sourceId)
    const isSummary = given.isSummary === true || isGenerated(given)
    return {
      given,
      sourceId,
      said: given.role === undefined ? reasoningIn(message, sourceId) : saidOf(given, sourceId),
      isSummary,
      isMarker: !isSummary && given.isTruncationMarker === true,
    }
  })
}

const withoutResults = ({ body }: Said): boolean => body.role !== 'tool'

/** The words of a summary, without what stands beside it. */
export function summaryTextOf(entry: Entry): string {
  const own = textIn(entry.given.metadata?.['summary'])
  const body = entry.said.find(withoutResults)?.body
  const parts = typeof body?.content === 'string' || body === undefined ? [] : (body.content ?? [])
  const first = parts.find((part) => part.type === 'text')
  return own ?? textIn(first?.['text']) ?? contentText(body?.content ?? '')
}
