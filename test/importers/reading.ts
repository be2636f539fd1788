/** Records given by hand to a reader, and laws that hold for what any reader says. */
import { refusalOf } from '../../src/importers/bodies.js'
import type { MessageItem, TranscriptItem, TranscriptReader, TranscriptRecord } from '../../src/importers/transcript.js'

/** Values as the lines of a file. */
export const asLines = (values: readonly unknown[], file = '/home/somebody/file.jsonl'): readonly TranscriptRecord[] =>
  values.map((value, at) => ({ value, where: { file, line: at + 1 } }))

/** A value as the whole of a file. */
export const asFile = (value: unknown, file = '/home/somebody/file.json'): readonly TranscriptRecord[] => [
  { value, where: { file } },
]

/** What a reader says while it reads. */
export const taken = (reader: TranscriptReader, records: readonly TranscriptRecord[]): readonly TranscriptItem[] =>
  records.flatMap((record) => [...reader.take(record)])

/** All that a reader says. */
export const itemsOf = (reader: TranscriptReader, records: readonly TranscriptRecord[]): readonly TranscriptItem[] => [
  ...taken(reader, records),
  ...reader.end(),
]

/** The items of a kind. */
export const ofKind = <Kind extends TranscriptItem['kind']>(
  items: readonly TranscriptItem[],
  kind: Kind,
): readonly Extract<TranscriptItem, { kind: Kind }>[] =>
  items.filter((item): item is Extract<TranscriptItem, { kind: Kind }> => item.kind === kind)

/** A message as a line that a person reads: who says what, which calls, which result. */
const lineOf = ({ sourceId, part, body, byProgram, isError }: MessageItem): string => {
  const marks = [byProgram === true ? ' (program)' : '', isError === true ? ' (error)' : ''].join('')
  const calls = (body.toolCalls ?? []).map((call) => ` +${call.id}`).join('')
  const result = body.toolCallId === undefined ? '' : ` =${body.toolCallId}`
  const content = typeof body.content === 'string' ? body.content : JSON.stringify(body.content)
  return `${sourceId}.${String(part)} ${body.role}${marks}: ${content}${calls}${result}`
}

export const linesOf = (items: readonly TranscriptItem[]): readonly string[] => ofKind(items, 'message').map(lineOf)

/** Messages that the ledger would refuse, with why. */
export const refusedIn = (items: readonly TranscriptItem[]): readonly string[] =>
  ofKind(items, 'message').flatMap(({ sourceId, body }) => {
    const refusal = refusalOf(body)
    return refusal === undefined ? [] : [`${sourceId}: ${refusal}`]
  })

/** Messages of contexts that were not said before, or in another conversation, or that were withdrawn. */
function unsaidIn(items: readonly TranscriptItem[]): readonly string[] {
  const unsaid: string[] = []
  const said = new Map<string, Set<string>>()
  let conversation = ''
  for (const item of items) {
    if (item.kind === 'conversation') conversation = item.sourceId
    const ids = said.get(conversation) ?? new Set<string>()
    said.set(conversation, ids)
    if (item.kind === 'message') ids.add(item.sourceId)
    if (item.kind === 'withdrawal') for (const id of item.sourceIds) ids.delete(id)
    if (item.kind !== 'compaction') continue
    for (const entry of item.context)
      if (entry.kind === 'message' && !ids.has(entry.sourceId)) unsaid.push(`${item.sourceId} shows ${entry.sourceId}`)
  }
  return unsaid
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/**
 * What a reader does that none may do. The ledger can take each message; a compaction shows only what was said before
 * it; half of the records says the beginning of what all of them say; and a second reading says the same.
 */
export function brokenLaws(read: () => TranscriptReader, records: readonly TranscriptRecord[]): readonly string[] {
  const items = itemsOf(read(), records)
  const whole = taken(read(), records)
  const cuts = Array.from({ length: records.length + 1 }, (_, cut) => cut).filter((cut) => {
    const half = taken(read(), records.slice(0, cut))
    return !same(whole.slice(0, half.length), half)
  })
  return [
    ...refusedIn(items),
    ...unsaidIn(items),
    ...(same(itemsOf(read(), records), items) ? [] : ['says something else when it reads again']),
    ...cuts.map((cut) => `says something else of its first ${String(cut)} records`),
  ]
}
