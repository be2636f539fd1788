/** The definition of one event type. `index.ts` lists all of them. */
import type { z } from 'zod'
import type { TextGroup } from './texts.js'
import type { Upcasters } from './upcast.js'

/** Values by the name of their field, as error messages show it. */
export type ValuesByField = Readonly<Record<string, unknown>>

export interface EventDefinition<Schema extends z.ZodType> {
  /** Description of the event in one sentence. `docs/reference/events.md` is generated from it. */
  readonly description: string
  /** Current version of the data. */
  readonly version: number
  /** Schema of the data in the current version. */
  readonly schema: Schema
  /**
   * Fast path for the most frequent form of the current version: returns the same data as the schema, or undefined if
   * the schema must decide.
   */
  readonly usual?: (data: Readonly<Record<string, unknown>>) => z.output<Schema> | undefined
  /** The fields with texts, which an erasable ledger seals. `NO_TEXTS` if the event has none. */
  readonly texts: readonly TextGroup[]
  /** Every step from version 1 to the current version. */
  readonly upcasters?: Upcasters
  /**
   * The names from outside, which must fit in every store, table and index. Names copied from earlier events are not
   * among them: they must stay as they are.
   */
  namesFromOutside?(data: z.output<Schema>): ValuesByField
  /** The token counts from outside, which are added up later. */
  tokensFromOutside?(data: z.output<Schema>): ValuesByField
}

export const defineEvent = <Schema extends z.ZodType>(event: EventDefinition<Schema>): EventDefinition<Schema> => event
