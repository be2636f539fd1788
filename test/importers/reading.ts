/** Feeds records to a reader, and checks rules that hold for every reader. */
import { refusalOf } from '../../src/application/importers/bodies.js'
import type {
  MessageItem,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
} from '../../src/application/importers/transcript.js'

/** Values as lines of a file. */
export const asLines = (values: readonly unknown[], file = '/home/somebody/file.jsonl'): readonly TranscriptRecord[] =>
  values.map((value, at) => ({ value, where: { file, line: at + 1 } }))

/** A value as the content of a file. */
export const asFile = (value: unknown, file = '/home/somebody/file.json'): readonly TranscriptRecord[] => [
  { value, where: { file } },
]

/** The items of the records, without the final items. */
export const itemsWithoutEnd = (
  reader: TranscriptReader,
  records: readonly TranscriptRecord[],
): readonly TranscriptItem[] => records.flatMap((record) => [...reader.take(record)])

/** All items of a reader. */
export const itemsFrom = (
  reader: TranscriptReader,
  records: readonly TranscriptRecord[],
): readonly TranscriptItem[] => [...itemsWithoutEnd(reader, records), ...reader.end()]

/** The items of one kind. */
export const ofKind = <Kind extends TranscriptItem['kind']>(
  items: readonly TranscriptItem[],
  kind: Kind,
): readonly Extract<TranscriptItem, { kind: Kind }>[] =>
  items.filter((item): item is Extract<TranscriptItem, { kind: Kind }> => item.kind === kind)

/** A message as a readable line: id, role, marks, content, calls and result. */
const lineOf = ({ sourceId, part, body, byProgram, isError, exitCode }: MessageItem): string => {
  const exit = exitCode === undefined ? '' : ` (exit ${String(exitCode)})`
  const marks = [byProgram === true ? ' (program)' : '', isError === true ? ' (error)' : '', exit].join('')
  const calls = (body.toolCalls ?? []).map((call) => ` +${call.id}`).join('')
  const result = body.toolCallId === undefined ? '' : ` =${body.toolCallId}`
  const content = typeof body.content === 'string' ? body.content : JSON.stringify(body.content)
  return `${sourceId}.${String(part)} ${body.role}${marks}: ${content}${calls}${result}`
}

export const linesOf = (items: readonly TranscriptItem[]): readonly string[] => ofKind(items, 'message').map(lineOf)

/** Messages that the ledger would reject, with the reason. */
export const refusedIn = (items: readonly TranscriptItem[]): readonly string[] =>
  ofKind(items, 'message').flatMap(({ sourceId, body }) => {
    const refusal = refusalOf(body)
    return refusal === undefined ? [] : [`${sourceId}: ${refusal}`]
  })

/** Messages in contexts that were not emitted before, were withdrawn, or belong to another conversation. */
function unknownMessagesIn(items: readonly TranscriptItem[]): readonly string[] {
  const unknown: string[] = []
  const emitted = new Map<string, Set<string>>()
  let conversation = ''
  for (const item of items) {
    if (item.kind === 'conversation') conversation = item.sourceId
    const ids = emitted.get(conversation) ?? new Set<string>()
    emitted.set(conversation, ids)
    if (item.kind === 'message') ids.add(item.sourceId)
    if (item.kind === 'withdrawal') for (const id of item.sourceIds) ids.delete(id)
    if (item.kind !== 'compaction') continue
    for (const entry of item.context)
      if (entry.kind === 'message' && !ids.has(entry.sourceId)) unknown.push(`${item.sourceId} shows ${entry.sourceId}`)
  }
  return unknown
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/**
 * Violations of the rules for readers. The ledger accepts each message; a compaction contains only earlier messages;
 * the first half of the records yields the first items; a second reading yields the same items.
 */
export function violationsOf(read: () => TranscriptReader, records: readonly TranscriptRecord[]): readonly string[] {
  const items = itemsFrom(read(), records)
  const whole = itemsWithoutEnd(read(), records)
  const cuts = Array.from({ length: records.length + 1 }, (_, cut) => cut).filter((cut) => {
    const half = itemsWithoutEnd(read(), records.slice(0, cut))
    return !same(whole.slice(0, half.length), half)
  })
  return [
    ...refusedIn(items),
    ...unknownMessagesIn(items),
    ...(same(itemsFrom(read(), records), items) ? [] : ['yields other items in a second reading']),
    ...cuts.map((cut) => `yields other items for its first ${String(cut)} records`),
  ]
}
