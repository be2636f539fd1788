/** Transcripts of other programs that were written for the tests, with counts made from the same raw records. */
import type { RawCounts } from '../raw-counts/raw-counts.js'

export type Raw = Readonly<Record<string, unknown>>

/** The files of one program. */
export interface WrittenTranscript {
  readonly program: string
  /** Path → content. The first path is the one that is imported. */
  readonly files: Readonly<Record<string, string>>
  /** The contents are statements that make a SQLite database. */
  readonly isDatabase?: true
  /** The conversations, counted without the importer. */
  readonly counts: readonly RawCounts[]
  /** Records without content for a conversation, by kind. */
  readonly leftOut: Readonly<Record<string, number>>
  /** Texts that the context of the first conversation must contain, in this order, and texts that it must not contain. */
  readonly context: { readonly has: readonly string[]; readonly lacks?: readonly string[] }
}

export const lines = (records: readonly unknown[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join('')

/** Counts of a conversation, with zeros for what is not named. */
export const counted = ({
  messages = {},
  ...counts
}: Partial<Omit<RawCounts, 'messages'>> & {
  readonly messages?: Partial<RawCounts['messages']>
}): RawCounts => ({
  sourceId: undefined,
  calls: 0,
  results: 0,
  compactions: 0,
  withdrawn: 0,
  edits: 0,
  parent: undefined,
  ...counts,
  messages: { instruction: 0, user: 0, assistant: 0, tool: 0, ...messages },
})

/** Number of values for which a test holds. */
export const number = <Value>(values: readonly Value[], test: (value: Value) => boolean): number =>
  values.filter(test).length
