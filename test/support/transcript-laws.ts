/**
 * What holds of every transcript, whatever its program wrote: nothing is thrown, every record is taken or counted, the
 * ledger takes every message, ids mean one thing, half a file gives the beginning of what the whole gives.
 */
import { plainContentId } from '../../src/application/importers/content-id.js'
import { expect } from '@jest/globals'
import { refusalOf } from '../../src/application/importers/bodies.js'
import type {
  Importer,
  MessageItem,
  TranscriptItem,
  TranscriptRecord,
} from '../../src/application/importers/transcript.js'

/** Values as the lines of a file; a value that is undefined is a line that the driver could not read. */
export const linesOf = (file: string, values: readonly unknown[]): readonly TranscriptRecord[] =>
  values.flatMap((value, at) => (value === undefined ? [] : [{ value, where: { file, line: at + 1 } }]))

/** What a reader of the importer says of records, without and with what it says at the end. */
export function itemsOf(importer: Importer, path: string, records: readonly TranscriptRecord[]): TranscriptItem[] {
  const reader = importer.read(path, plainContentId)
  return records.flatMap((record) => [...reader.take(record)])
}

/** The items of one kind. */
export const ofKind = <Kind extends TranscriptItem['kind']>(
  items: readonly TranscriptItem[],
  kind: Kind,
): Extract<TranscriptItem, { kind: Kind }>[] =>
  items.filter((item): item is Extract<TranscriptItem, { kind: Kind }> => item.kind === kind)

/** Follows the items and complains where one names what is not there. */
function follow(items: readonly TranscriptItem[]): void {
  const ids = new Set<string>()
  const parts = new Set<string>()
  const compactions: string[] = []
  const partOf = ({ sourceId, part }: Pick<MessageItem, 'sourceId' | 'part'>): string => `${sourceId} ${String(part)}`
  for (const item of items) {
    switch (item.kind) {
      case 'message':
        expect(refusalOf(item.body)).toBeUndefined()
        expect(parts).not.toContain(partOf(item))
        parts.add(partOf(item))
        ids.add(item.sourceId)
        break
      case 'withdrawal':
        expect(item.sourceIds).not.toHaveLength(0)
        for (const id of item.sourceIds) {
          expect(ids.delete(id)).toBe(true)
          for (const part of parts) if (part.startsWith(`${id} `)) parts.delete(part)
        }
        break
      case 'edit':
        expect(parts).toContain(partOf(item))
        break
      case 'compaction': {
        const keptIds = item.context.flatMap((entry) => (entry.kind === 'message' ? [entry.sourceId] : []))
        for (const id of [...keptIds, ...(item.unknown ?? [])]) expect(ids).toContain(id)
        expect(new Set(keptIds).size).toBe(keptIds.length)
        expect(keptIds.filter((id) => item.unknown?.includes(id) === true)).toEqual([])
        for (const entry of item.context) if (entry.kind === 'inserted') expect(refusalOf(entry.body)).toBeUndefined()
        expect(compactions).not.toContain(item.sourceId)
        compactions.push(item.sourceId)
        break
      }
      case 'undo':
        expect(compactions.splice(-item.sourceIds.length).toReversed()).toEqual(item.sourceIds)
        break
      case 'conversation':
      case 'damage':
      case 'left-out':
        break
      default:
        item satisfies never
    }
  }
}

/**
 * Complains where a law does not hold, and gives the items. @param cut how much of the records the first half has, from
 * 0 to 1
 */
export function lawfulItems(
  importer: Importer,
  path: string,
  records: readonly TranscriptRecord[],
  cut: number,
): readonly TranscriptItem[] {
  const items = itemsOf(importer, path, records)
  const reader = importer.read(path, plainContentId)
  for (const record of records) expect([...reader.take(record)]).not.toHaveLength(0)
  follow(items)
  expect(itemsOf(importer, path, records)).toEqual(items)
  const half = itemsOf(importer, path, records.slice(0, Math.floor(records.length * cut)))
  expect(items.slice(0, half.length)).toEqual(half)
  return items
}
