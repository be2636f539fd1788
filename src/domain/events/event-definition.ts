/** The definition of one event type. `index.ts` lists all of them. */
import type { z } from 'zod'
import type { TextGroup } from './texts.js'
import type { Upcasters } from './upcast.js'

/** Values by the name of their field, as error messages show it. */
export type ValuesByField = Readonly<Record<string, unknown>>

/** What an event does to the conversation, its context or its editions, for exports. */
type Activity = 'create' | 'update' | 'delete'

/** Whether an event changes the state that `evolve` computes. */
export type Effect = 'state' | 'none'

type KeyOf<T> = T extends unknown ? keyof T : never

export interface EventDefinition<Schema extends z.ZodType, Changes extends Effect = Effect> {
  /** Description of the event in one sentence. `docs/reference/events.md` is generated from it. */
  readonly description: string
  /** The kind of stream that it is recorded in, `conversation` by default. The stream of an edition has more types. */
  readonly stream?: 'edition' | 'prompt' | 'retention'
  /** True if a stream can begin with it. */
  readonly opensStream?: true
  /** `none` if it leaves the state as it is; otherwise `evolve` has a case for it. */
  readonly effect?: Changes
  /** True if it can bring a conversation to a limit. */
  readonly triggers?: true
  readonly activity: Activity
  /** True if it says that something failed. */
  readonly isFailure?: true
  /** Its name for people; by default the words of the type: "Edition adopted". */
  readonly label?: string
  /** The fields that contain no text of a person, a model, a tool or a file. */
  readonly withoutContent: readonly KeyOf<z.output<Schema>>[]
  /** One line for the command `log`, which prints revision, time and type before it. */
  describe(data: z.output<Schema>): string
  /** The line without ids and places for the page, if it differs. */
  describeShortly?(data: z.output<Schema>): string
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

export const defineEvent = <Schema extends z.ZodType, Changes extends Effect = 'state'>(
  event: EventDefinition<Schema, Changes>,
): EventDefinition<Schema, Changes> => event
